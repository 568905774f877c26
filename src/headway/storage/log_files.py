"""Where the output of runs is kept, and how to read it."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from headway.domain import errors

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


def write_at(path: Path, offset: int, data: bytes) -> int:
    """Add what is new of a piece at its place; answers how long the log is now.

    A piece that is there already changes nothing. One that would leave a gap is refused.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        size = os.fstat(handle).st_size
        if offset > size:
            raise errors.LogGap(offset, size)
        new = memoryview(data)[size - offset :]
        while new:
            written = os.pwrite(handle, new, size)
            new, size = new[written:], size + written
        return size
    finally:
        os.close(handle)


def size(path: Path) -> int:
    """How many bytes a log has; one that nobody wrote to has none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def read_from(path: Path, offset: int, size: int) -> bytes:
    """At most `size` bytes from `offset` on; a log that nobody wrote to is empty."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except FileNotFoundError:
        return b""


def read_tail(path: Path, lines: int) -> bytes:
    """The last lines of a log, and never more than TAIL_LIMIT bytes of them."""
    if lines <= 0:
        return b""
    try:
        with path.open("rb") as file:
            return _tail(file, lines)
    except FileNotFoundError:
        return b""


def _tail(file: BinaryIO, lines: int) -> bytes:
    start = end = file.seek(0, os.SEEK_END)
    blocks: list[bytes] = []
    # The newline that ends the last line is not the end of one before it.
    wanted = lines + 1
    while start > 0 and wanted > 0 and end - start < TAIL_LIMIT:
        step = min(_BLOCK, start)
        start -= step
        file.seek(start)
        blocks.append(file.read(step))
        wanted -= blocks[-1].count(b"\n")
    text = b"".join(reversed(blocks))
    body = text.removesuffix(b"\n")
    kept = b"\n".join(body.split(b"\n")[-lines:])
    return kept + text[len(body) :]
