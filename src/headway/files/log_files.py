"""Where the output of runs is kept, and how to read it."""

import contextlib
import errno
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headway.domain import errors
from headway.files import log_parts, private_files
from headway.files.log_parts import LogFile, OutputBound, Part

TAIL_LIMIT = 4 * 1024 * 1024
_BLOCK = 64 * 1024


def folder(run_id: str) -> str:
    """A run's folder under the data directory."""
    # The first digits of a UUIDv7 are the same for years; the last ones spread evenly.
    return f"logs/{run_id[-2:]}/{run_id}"


def names(data: Path) -> Iterator[str]:
    """The ids of those who have a folder under the data directory."""
    for found in (data / "logs").glob("??/*"):
        if found == data / folder(found.name):
            yield found.name


def last_written(directory: Path) -> float:
    """When something was last written there, in seconds; one that is just going is never old."""
    try:
        return max(one.stat().st_mtime for one in (directory, *directory.iterdir()))
    except FileNotFoundError:
        return math.inf


def path(directory: Path, stream: str) -> Path:
    """One of the two log files of a run."""
    return directory / f"{stream}.log"


def write_at(path: Path, offset: int, data: bytes, bound: OutputBound) -> int:
    """Add what is new of a piece at its place; returns how long the log is now.

    A piece that is there already changes nothing. One that would leave a gap is refused.
    """
    end = size(path)
    if offset > end:
        raise errors.LogGap(offset, end)
    new = data[end - offset :]
    if new:
        private_files.make_folder(path.parent)
        if not bound.has_room(path.parent, len(new)):
            raise OSError(errno.ENOSPC, "the disk is nearly full")
        with contextlib.closing(LogFile(path, bound)) as file:
            file.append(new)
    return end + len(new)


def size(path: Path) -> int:
    """How many bytes were written to a log, with those that were cut from it since."""
    found = log_parts.parts(path)
    return found[-1].end if found else 0


class Piece(NamedTuple):
    """A piece of a log, and the offset to go on from."""

    data: bytes
    end: int


def read_from(path: Path, offset: int, size: int) -> Piece:
    """At most `size` bytes from `offset` on, or a mark where some were cut; empty at the end."""
    for part in log_parts.parts(path):
        if offset < part.start:
            return Piece(log_parts.cut_mark(part.start - offset), part.start)
        if offset < part.end:
            data = _read(part, offset, size)
            if data:
                return Piece(data, offset + len(data))
    return Piece(b"", offset)


def _read(part: Part, offset: int, size: int) -> bytes:
    """Empty if the file was removed at this moment: then the next one begins behind a cut."""
    try:
        with part.path.open("rb") as file:
            file.seek(offset - part.start)
            return file.read(size)
    except FileNotFoundError:
        return b""


def read_tail(path: Path, lines: int) -> bytes:
    """The last lines of a log, and never more than TAIL_LIMIT bytes of them."""
    if lines <= 0:
        return b""
    blocks: list[bytes] = []
    length = 0
    # The newline that ends the last line is not the end of one before it.
    wanted = lines + 1
    for block in log_parts.backwards(log_parts.parts(path), _BLOCK):
        blocks.append(block)
        length += len(block)
        wanted -= block.count(b"\n")
        if wanted <= 0 or length >= TAIL_LIMIT:
            break
    text = b"".join(reversed(blocks))
    body = text.removesuffix(b"\n")
    kept = b"\n".join(body.split(b"\n")[-lines:])
    return kept + text[len(body) :]
