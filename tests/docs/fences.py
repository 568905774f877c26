"""Reads the fenced blocks of a page, and compares what a page shows with what a command said."""

import re
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent.parent

_FENCE = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(msgspec.Struct, frozen=True):
    """A fenced block: what stands behind the fence, and what is in it."""

    info: str
    text: str


def blocks(path: Path) -> list[Block]:
    """Every fenced block of a page that says what it is, in order."""
    found = _FENCE.finditer(path.read_text(encoding="utf-8"))
    return [Block(one["info"].strip(), one["text"]) for one in found]


def missing_line(shown: str, said: str) -> str | None:
    """The first shown line that was not said in its turn; `…` stands for anything."""
    lines = iter(said.splitlines())
    for line in filter(None, map(str.strip, shown.splitlines())):
        if not any(_pattern(line).search(one) for one in lines):
            return line
    return None


def _pattern(line: str) -> re.Pattern[str]:
    """Columns are as wide as they need to be, so spaces are not counted."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("…")]
    return re.compile(r".*".join(parts))
