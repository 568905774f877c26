"""The pages of a database: its file, and over it what is committed in its log."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAGIC = b"SQLite format 3\0"
USUAL_SIZE = 4096
SIZES = frozenset(2**power for power in range(9, 17))

_LOG_MAGIC = 0x377F0682
_LOG_HEADER = 32
_FRAME_HEADER = 24
_MASK = 0xFFFFFFFF


class _Frame(NamedTuple):
    """A page in the log."""

    page: int
    commits: bool
    is_sound: bool
    """Whether its checksum is right, from the checksum of the frame before."""
    at: int


class Image:
    """What a file and its log say of each page, by its number from 1 on."""

    def __init__(self, path: Path) -> None:
        self._file = path.read_bytes() if path.exists() else b""
        log = path.with_name(f"{path.name}-wal")
        self._log = log.read_bytes() if log.exists() else b""
        self.size = self._page_size()
        self.usable = self.size - self._reserved()
        self._in_log: dict[int, int | None] = {}
        self._apply_log()
        self.count = max(
            (len(self._file) + self.size - 1) // self.size, max(self._in_log, default=0)
        )

    def page(self, number: int) -> bytes | None:
        """The content of a page; None if it is not there, empty or known to be damaged."""
        if not 1 <= number <= self.count:
            return None
        if number in self._in_log:
            at = self._in_log[number]
            found = b"" if at is None else self._log[at : at + self.size]
        else:
            found = self._file[(number - 1) * self.size : number * self.size]
        return found if len(found) == self.size and any(found) else None

    def _page_size(self) -> int:
        if self._file.startswith(MAGIC):
            size = int.from_bytes(self._file[16:18], "big")
            if (size := 65536 if size == 1 else size) in SIZES:
                return size
        size = int.from_bytes(self._log[8:12], "big")
        return size if size in SIZES else USUAL_SIZE

    def _reserved(self) -> int:
        """Bytes at the end of each page that SQLite does not use; Headway's files have none."""
        return self._file[20] if self._file.startswith(MAGIC) and self._file[20] < 64 else 0

    def _apply_log(self) -> None:
        """Take the newest frame of each page up to the last commit.

        SQLite ignores everything behind a damaged frame. Here the frames behind it count too, and
        a page whose newest frame is damaged counts as damaged: what was before it is outdated.
        """
        frames = list(self._frames())
        ends = [place for place, one in enumerate(frames) if one.commits and one.is_sound]
        for one in frames[: ends[-1] + 1] if ends else ():
            if one.page:
                self._in_log[one.page] = one.at if one.is_sound else None

    def _frames(self) -> Iterator[_Frame]:
        if len(self._log) < _LOG_HEADER + _FRAME_HEADER:
            return
        order, before, salts = self._log_header()
        step = _FRAME_HEADER + self.size
        for at in range(_LOG_HEADER, len(self._log) - step + 1, step):
            header = self._log[at : at + _FRAME_HEADER]
            page, commit = struct.unpack(">II", header[:8])
            told = struct.unpack(">II", header[16:])
            if header[8:16] != salts:  # of an earlier log, or damaged
                before = None
                continue
            content = self._log[at + _FRAME_HEADER : at + step]
            made = None if before is None else _checksum(header[:8] + content, before, order)
            yield _Frame(page, commit > 0, made == told, at + _FRAME_HEADER)
            before = told

    def _log_header(self) -> tuple[str, tuple[int, int] | None, bytes]:
        """The byte order of checksums, the first one if it is right, and the salts."""
        header = self._log[:_LOG_HEADER]
        order = ">" if int.from_bytes(header[:4], "big") == _LOG_MAGIC + 1 else "<"
        told = struct.unpack(">II", header[24:])
        if _checksum(header[:24], (0, 0), order) == told:
            return order, told, header[16:24]
        return order, None, self._log[_LOG_HEADER + 8 : _LOG_HEADER + 16]


def _checksum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = before
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for one, two in zip(words, words, strict=True):
        first = (first + one + second) & _MASK
        second = (second + two + first) & _MASK
    return first, second
