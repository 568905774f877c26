"""What is piped into a command."""

import os
import select
import stat
import sys

from headway.cli.text.screen import Screen
from headway.domain import errors

PATIENCE_S = 1.0


def read(screen: Screen, limit: int) -> str | None:
    """Standard input as text, if it is a pipe or a file; a terminal is not read."""
    handle = _handle()
    if handle is None:
        return None
    if not select.select([handle], [], [], PATIENCE_S)[0]:
        screen.note("reading standard input to its end; to give none, add </dev/null")
    raw = sys.stdin.buffer.read(limit + 1)
    instead = "write it to a file, and let the command read that"
    if len(raw) > limit:
        raise errors.InvalidRequest("stdin", f"there are more than {limit} bytes; {instead}")
    try:
        return raw.decode() or None
    except UnicodeDecodeError:
        raise errors.InvalidRequest("stdin", f"it is not text in UTF-8; {instead}") from None


def _handle() -> int | None:
    try:
        handle = sys.stdin.fileno()
        kind = os.fstat(handle).st_mode
    except (AttributeError, OSError, ValueError):  # closed, or not a file at all
        return None
    return handle if stat.S_ISFIFO(kind) or stat.S_ISREG(kind) else None
