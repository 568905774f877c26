"""Parts of lists that are bounded in bytes, and not in items alone."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from headway.storage.transaction import Row

MOST_BYTES = 4 * 1024 * 1024
"""About as much is read for one page, unless its first item is larger."""

LARGEST_LISTED = 8 * 1024
"""Larger params, results and errors are left out of lists."""

Item = TypeVar("Item")


class Slice(msgspec.Struct, Generic[Item], frozen=True):
    """Some items of a list, and whether there are more behind them."""

    items: list[Item]
    more: bool


def read(
    rows: Sequence[Row], count: int, load: Callable[[Sequence[Row]], list[Item]]
) -> Slice[Item]:
    """Load so many items, or fewer if they are large; `rows` say the size of each.

    One row more than are wanted says that there are more.
    """
    shown = fitting(rows[:count])
    return Slice(load(shown), len(rows) > len(shown))


def fitting(rows: Sequence[Row], most: int = MOST_BYTES) -> Sequence[Row]:
    """The first of these rows, as many as fit by their sizes, but at least one."""
    total = 0
    for place, row in enumerate(rows):
        total += row["size"]
        if place and total > most:
            return rows[:place]
    return rows
