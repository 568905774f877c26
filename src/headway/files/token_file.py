"""`admin.token`: the admin token of a data directory, for its user's commands on this machine."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from headway.domain import errors
from headway.domain.manage.tokens import PREFIX, RANDOM_BYTES, has_our_form

NAME = "admin.token"


def read(data: Path) -> str | None:
    """The token in the file, for those who use it; None if there is none that can be read."""
    try:
        return (data / NAME).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError):
        return None


def read_own(data: Path) -> str | None:
    """The token, if this user's server wrote it or may adopt it; None if there is no file."""
    path = data / NAME
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            facts, text = os.fstat(file.fileno()), file.read(1000).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    wrong = _problem(facts, text)
    if wrong is not None:
        raise errors.UnsafeFile(path, *wrong)
    return text


def _problem(facts: os.stat_result, text: str) -> tuple[str, str] | None:
    """What is wrong with a file, and what to do about it."""
    mode = stat.S_IMODE(facts.st_mode)
    if facts.st_uid != os.geteuid():
        return "belongs to another user", "remove it; the next start makes a new one"
    if mode & 0o077:
        return (
            f"can be read by other users (mode {mode:04o})",
            "remove it, then the next start makes a new one, or chmod 600 it if it is still secret",
        )
    if not has_our_form(text):
        return "does not hold a token of Headway", "remove it; the next start makes a new one"
    return None


def make(data: Path) -> str:
    """A new token in a file of its own; of servers that start at once, one makes it for all."""
    draft = _draft(data)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, data / NAME)
    finally:
        draft.unlink()
    return (data / NAME).read_text(encoding="utf-8").strip()


def replace(data: Path) -> str:
    """A new token in place of the one that is in the file."""
    draft = _draft(data)
    text = draft.read_text(encoding="utf-8").strip()
    draft.replace(data / NAME)
    return text


def _draft(data: Path) -> Path:
    draft = data / f"{NAME}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{PREFIX}{secrets.token_urlsafe(RANDOM_BYTES)}\n")
    return draft
