"""Files and folders for their owner alone, whatever the umask is."""

import contextlib
import os
import stat
from pathlib import Path

from headway.domain import errors

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folder(path: Path) -> None:
    """Make a folder and those above that are missing."""
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise


def opener(path: str, flags: int) -> int:
    """For `open`: a file that is made belongs to its owner alone."""
    return os.open(path, flags, FILE_MODE)


def make_file(path: Path) -> None:
    """Make an empty file; one that is there is not even opened, or SQLite would lose its locks."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))


def is_own(path: Path) -> bool:
    """Whether a file is such as we make them, and of this user; root may use those of others."""
    facts = path.stat()
    is_ours = os.geteuid() in (0, facts.st_uid)
    return is_ours and not stat.S_IMODE(facts.st_mode) & 0o077


def refuse_readable(path: Path) -> None:
    """Refuse a file or folder that other users can read or search."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return
    if mode & 0o077:
        wanted = FOLDER_MODE if path.is_dir() else FILE_MODE
        raise errors.UnsafeFile(
            path,
            f"can be read by other users (mode {mode:04o})",
            f"chmod {wanted:o} {path}, or set allow_readable_data",
        )
