"""Tables in Markdown."""

from collections.abc import Iterable, Sequence

WRITTEN_BY = "Written by `python -m docs_tools` from the code."


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a head."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
