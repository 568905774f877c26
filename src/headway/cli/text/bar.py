"""A progress bar: one line on a terminal's standard error, nothing anywhere else."""

import os
import shutil
import sys
from types import TracebackType

CELLS = 24


class Bar:
    """Drawn over and over in the same line, and gone in the end."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = False
        self._turn = 0

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def count(self, done: int, total: int | None = None, what: str = "") -> None:
        """So many of so many."""
        of = "" if total is None else f"/{total}"
        self.draw(done / total if total else None, f"{done}{of} {what}".rstrip())

    def draw(self, fraction: float | None, text: str = "") -> None:
        """A share between 0 and 1; None moves a mark to and fro."""
        if not self._shown:
            return
        self._turn += 1
        line = f"{self._title} [{self._cells(fraction)}] {text}"
        width = shutil.get_terminal_size((80, 24)).columns - 1
        sys.stderr.write(f"\r\x1b[K{line[:width]}")
        sys.stderr.flush()
        self._drawn = True

    def _cells(self, fraction: float | None) -> str:
        if fraction is None:
            there = self._turn % (2 * CELLS - 2)
            place = min(there, 2 * CELLS - 2 - there)
            return "-" * place + "#" + "-" * (CELLS - 1 - place)
        full = round(min(max(fraction, 0.0), 1.0) * CELLS)
        return "#" * full + "-" * (CELLS - full)

    def clear(self) -> None:
        """Take the line away, so that other output has the place."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
