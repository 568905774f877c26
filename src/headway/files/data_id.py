"""Which data directory this is: its id stays when it is moved, or used by another machine."""

import contextlib
import os
import secrets
from pathlib import Path

from headway.files import private_files

NAME = "data.id"


def read(data: Path) -> str | None:
    """The id of a data directory that has one."""
    try:
        return (data / NAME).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def ensure(data: Path) -> str:
    """The id of a data directory; of servers that start at once, one makes it for all."""
    if (known := read(data)) is not None:
        return known
    made = secrets.token_hex(6)
    draft = data / f"{NAME}.{made}"
    with open(draft, "w", encoding="ascii", opener=private_files.opener) as file:
        file.write(made)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, data / NAME)
    finally:
        draft.unlink()
    return read(data) or made
