"""The files of a log, and the bound that they keep.

A log begins in `stdout.log`. A long one goes on in further files, each named by the offset at
which it begins (`stdout.33554432.log`). When a run has printed more than it may, files from the
middle are removed: the beginning and the end stay, and the offsets of followers keep their meaning.
"""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headway.files import private_files

MIB = 1024 * 1024
LARGEST = 256 * MIB
RESERVE = 256 * MIB
PARTS = 8
USUAL_PART = 4 * MIB
"""Output is cut in steps of an eighth of its bound; in smaller ones where there is less room."""

LOOK_AGAIN_S = 0.5
LOOK_AGAIN_BYTES = MIB
WARN_EVERY_S = 60.0
SMALL = 64 * 1024
"""A run that printed less may use half of the reserve: one loud run does not silence others."""

EASED = 1.25
"""After a loss, so many times the reserve must be free, so that losses come in few pieces."""

log = logging.getLogger("headway.logs")


class Part(NamedTuple):
    """One file of a log: where it begins in the log, and how long it is."""

    start: int
    path: Path
    size: int

    @property
    def end(self) -> int:
        """Where the next file begins if nothing was cut."""
        return self.start + self.size


def parts(path: Path) -> list[Part]:
    """The files of the log that begins in this file, in order."""
    stem = path.name.removesuffix(".log")
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(path.parent) as entries:
        for entry in entries:
            start = _start(stem, entry.name)
            if start is not None:
                with contextlib.suppress(FileNotFoundError):  # removed at this moment
                    found.append(Part(start, Path(entry.path), entry.stat().st_size))
    return sorted(found)


def _start(stem: str, name: str) -> int | None:
    if name == f"{stem}.log":
        return 0
    digits = name.removeprefix(f"{stem}.").removesuffix(".log")
    return int(digits) if name == f"{stem}.{digits}.log" and digits.isdecimal() else None


def cut_mark(count: int) -> bytes:
    """What a reader sees in place of output that was cut."""
    return b"\n[headway: %d bytes of output were cut here, see largest_output]\n" % count


def lost_mark(count: int) -> bytes:
    """What the log has in place of output that could not be written."""
    return b"\n[headway: %d bytes of output are missing here, the disk was full]\n" % count


class OutputBound:
    """How much output is kept: of one run, and beside what else is on the disk."""

    def __init__(self, largest: int = LARGEST, reserve: int = RESERVE) -> None:
        self.largest = largest
        self.part = max(1, largest // PARTS)
        self._most_reserved = reserve
        self._reserve = reserve
        self._free = 0
        self._unseen = 0
        self._look_at = 0.0
        self._warn_at = 0.0

    def has_room(self, folder: Path, size: int, share: float = 1.0) -> bool:
        """Whether so much may be written there and leave this share of the reserve free."""
        self._unseen += size
        if self._unseen >= LOOK_AGAIN_BYTES or time.monotonic() >= self._look_at:
            self._look(folder)
        fits = self._free - self._unseen - size >= self._reserve * share
        if not fits and time.monotonic() >= self._warn_at:
            self._warn(folder)
        return fits

    def look_again(self) -> None:
        """Something was removed: what is free has to be asked anew."""
        self._look_at = 0.0

    def _look(self, folder: Path) -> None:
        disk = os.statvfs(folder)
        self._free = disk.f_bavail * disk.f_frsize
        # A small disk is not all reserve: at most a quarter of it is.
        self._reserve = min(self._most_reserved, disk.f_blocks * disk.f_frsize // 4)
        self.part = self._part(disk.f_blocks * disk.f_frsize)
        self._unseen = 0
        self._look_at = time.monotonic() + LOOK_AGAIN_S

    def _part(self, size: int) -> int:
        """How much one cut takes away: a disk that is small or nearly full allows less."""
        usable = max(USUAL_PART, (self._free - self._reserve) // PARTS)
        return max(1, min(self.largest // PARTS, usable, size // (4 * PARTS)))

    def _warn(self, folder: Path) -> None:
        self._warn_at = time.monotonic() + WARN_EVERY_S
        log.warning(
            "output of runs is cut: only %d MiB are free in %s, and %d MiB are reserved for the"
            " scheduler; free some space, or set disk_reserve",
            self._free // MIB,
            folder,
            self._reserve // MIB,
        )


class LogFile:
    """One stream of a run as it is written."""

    def __init__(self, path: Path, bound: OutputBound) -> None:
        self._path = path
        self._bound = bound
        self._handle = -1
        self._room = 0
        self._written = 0
        self._lost = 0

    def write(self, data: bytes) -> None:
        """Append what there is room for; what is not written is counted and marked."""
        try:
            if self._has_room(len(data)):
                self._mark_loss()
                self.append(data)
                return
        except OSError as error:
            if not self._lost:
                log.warning("output of a run could not be written: %s", error)
        self._lost += len(data)

    def _has_room(self, size: int) -> bool:
        """Whether the disk has room, or has it after an older part of this run's output is gone."""
        folder = self._path.parent
        if self._handle < 0:
            private_files.make_folder(folder)
        share = (EASED if self._lost else 1.0) if self._written > SMALL else 0.5
        if self._bound.has_room(folder, size, share):
            return True
        if not remove_one(_logs(folder)):
            return False
        self._bound.look_again()
        return self._bound.has_room(folder, size)

    def _mark_loss(self) -> None:
        if self._lost:
            self.append(lost_mark(self._lost))
            self._lost = 0

    def append(self, data: bytes) -> None:
        """Append all of it, or raise OSError."""
        rest = memoryview(data)
        while rest:
            if self._room <= 0:
                self._open_next()
            written = os.write(self._handle, rest[: self._room])
            rest, self._room = rest[written:], self._room - written
            self._written += written

    def close(self) -> None:
        """Leave nothing open; a loss is marked even if that takes from the reserve."""
        with contextlib.suppress(OSError):
            self._mark_loss()
        self._close()

    def _close(self) -> None:
        handle, self._handle, self._room = self._handle, -1, 0
        if handle >= 0:
            os.close(handle)

    def _open_next(self) -> None:
        """Go on in the last file, or behind it when it is full."""
        self._close()
        private_files.make_folder(self._path.parent)
        found = parts(self._path)
        here = found[-1] if found else Part(0, self._path, 0)
        if here.size >= self._bound.part:
            here = Part(here.end, self._path.with_suffix(f".{here.end}.log"), 0)
            make_room(self._path.parent, self._bound)
        self._handle = private_files.opener(str(here.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._room = self._bound.part - here.size


def make_room(folder: Path, bound: OutputBound) -> None:
    """Remove parts of a run's logs until another one fits."""
    logs = _logs(folder)
    while sum(map(_size, logs)) + bound.part > bound.largest and remove_one(logs):
        pass


def remove_one(logs: list[list[Part]]) -> bool:
    """Remove the oldest part of the longer log that is neither its beginning nor its end."""
    longest = max((one for one in logs if len(one) > 2), key=_size, default=None)
    if longest is None:
        return False
    longest.pop(1).path.unlink(missing_ok=True)
    return True


def _logs(folder: Path) -> list[list[Part]]:
    return [parts(folder / f"{stream}.log") for stream in ("stdout", "stderr")]


def _size(found: list[Part]) -> int:
    return sum(part.size for part in found)


def backwards(found: list[Part], block: int) -> Iterator[bytes]:
    """The contents of these files from the end to the beginning, in blocks, with marks at cuts."""
    end = None
    for part in reversed(found):
        if end is not None and part.end != end:
            yield cut_mark(end - part.end)
        end = part.start
        with contextlib.suppress(FileNotFoundError), part.path.open("rb") as file:
            here = part.size
            while here > 0:
                step = min(block, here)
                here -= step
                file.seek(here)
                yield file.read(step)
