"""What a person sees: tables that fit, colours only on a terminal, JSON on request."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from headway.domain.errors import HeadwayError

CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
NARROWEST = 8
GAP = "  "


class Styled(NamedTuple):
    """Text in a colour."""

    text: str
    style: str


Cell = str | Styled


class Column(NamedTuple):
    """A column; an elastic one gives way when the terminal is narrow."""

    title: str
    elastic: bool = False


class Screen:
    """Standard output, with what it can show."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.is_terminal = sys.stdout.isatty()
        dumb = os.environ.get("TERM") == "dumb"
        self.colours = self.is_terminal and not os.environ.get("NO_COLOR") and not dumb
        self.unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        self.width = shutil.get_terminal_size((80, 24)).columns if self.is_terminal else None

    def line(self, *cells: Cell) -> None:
        """One line, made of parts."""
        print("".join(self.paint(cell) for cell in cells))

    def paint(self, cell: Cell) -> str:
        """A part in its colour, if colours can be shown."""
        if isinstance(cell, str):
            return cell
        return f"\x1b[{CODES[cell.style]}m{cell.text}\x1b[0m" if self.colours else cell.text

    def value(self, value: Any) -> None:
        """A value in JSON: indented for a person, one line for a program."""
        import msgspec

        raw = msgspec.json.encode(value)
        print((msgspec.json.format(raw, indent=2) if self.is_terminal else raw).decode())

    def note(self, text: str) -> None:
        """A remark beside the answer; programs that read JSON or a pipe do not get it."""
        if not self.json:
            print(text, file=sys.stderr)

    def error(self, error: HeadwayError) -> None:
        """What went wrong, on standard error: a sentence, or the problem in JSON."""
        if self.json:
            import msgspec

            problem: dict[str, Any] = {"code": error.code, "detail": error.detail}
            if error.fields:
                problem["errors"] = error.fields
            print(msgspec.json.encode(problem).decode(), file=sys.stderr)
            return
        red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        label = "\x1b[31merror:\x1b[0m" if red else "error:"
        print(f"{label} {clean(error.detail)}", file=sys.stderr)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
        """Rows under titles, one line each."""
        found = list(rows)
        for line in self.table_lines(columns, found) if found else ["None"]:
            print(line)

    def table_lines(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> list[str]:
        """The lines of a table, cut to the terminal's width."""
        titles: list[Cell] = [Styled(column.title, "bold") for column in columns]
        body = [[_cleaned(cell) for cell in row] for row in rows]
        widths = [
            max(_width(_plain(row[place])) for row in [titles, *body])
            for place in range(len(columns))
        ]
        if self.width is not None:
            _squeeze(widths, columns, self.width)
        return [self._row(row, widths) for row in [titles, *body]]

    def _row(self, row: Sequence[Cell], widths: Sequence[int]) -> str:
        parts = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            text = self.cut(_plain(cell), width)
            padding = "" if place == len(row) - 1 else " " * (width - _width(text))
            painted = self.paint(Styled(text, cell.style) if isinstance(cell, Styled) else text)
            parts.append(painted + padding)
        return GAP.join(parts).rstrip()

    def cut(self, text: str, width: int) -> str:
        """The text, or as much of it as fits."""
        if _width(text) <= width:
            return text
        dots = "…" if self.unicode else "..."
        while text and _width(text) + len(dots) > width:
            text = text[:-1]
        return (text + dots)[: max(width, 0)]

    def facts(self, pairs: Iterable[tuple[str, Cell | None]]) -> None:
        """Names and values, aligned; what has no value is left out."""
        shown = [(name, value) for name, value in pairs if value is not None and value != ""]
        widest = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            label = Styled(f"{name:<{widest}}", "dim")
            lines = [
                _cleaned(Styled(part, value.style) if isinstance(value, Styled) else part)
                for part in _plain(value).splitlines() or [""]
            ]
            self.line(label, GAP, lines[0])
            for rest in lines[1:]:
                self.line(" " * widest, GAP, rest)


def clean(text: str) -> str:
    """Nothing that could move the cursor or break the line."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else " " if one in "\n\t" else "?" for one in text)


def _cleaned(cell: Cell) -> Cell:
    return Styled(clean(cell.text), cell.style) if isinstance(cell, Styled) else clean(cell)


def _plain(cell: Cell) -> str:
    return cell.text if isinstance(cell, Styled) else cell


def _width(text: str) -> int:
    """Columns on the terminal; some letters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _squeeze(widths: list[int], columns: Sequence[Column], most: int) -> None:
    """Take from the widest elastic column until the table fits."""
    elastic = [place for place, column in enumerate(columns) if column.elastic]
    over = sum(widths) + len(GAP) * (len(widths) - 1) - most
    # The last one has the particulars, so it keeps more.
    weights = {place: 2 if place == elastic[-1] else 3 for place in elastic}
    while over > 0 and elastic:
        widest = max(elastic, key=lambda place: widths[place] * weights[place])
        if widths[widest] <= NARROWEST:
            return
        widths[widest] -= 1
        over -= 1
