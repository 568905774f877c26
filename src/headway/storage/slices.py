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
    fitting = _fitting([row["size"] for row in rows[:count]])
    return Slice(load(rows[:fitting]), len(rows) > fitting)


def _fitting(sizes: Sequence[int]) -> int:
    """How many fit: at least one, or nobody would ever get past it."""
    total = 0
    for place, size in enumerate(sizes):
        total += size
        if place and total > MOST_BYTES:
            return place
    return len(sizes)
