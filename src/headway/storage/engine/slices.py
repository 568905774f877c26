"""Parts of lists that are bounded in bytes, and not in items alone."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

MOST_BYTES = 4 * 1024 * 1024
"""About as much is read for one page, unless its first item is larger."""

LARGEST_LISTED = 8 * 1024
"""Larger params, results and errors are left out of lists."""

Item = TypeVar("Item")
Key = TypeVar("Key")


class Sized(NamedTuple, Generic[Key]):
    """The key of an item that was not read yet, and its size."""

    key: Key
    size: int


class Slice(msgspec.Struct, Generic[Item], frozen=True):
    """Some items of a list, and whether there are more behind them."""

    items: list[Item]
    more: bool


def read(
    found: Sequence[Sized[Key]], count: int, load: Callable[[list[Key]], list[Item]]
) -> Slice[Item]:
    """Load so many items, or fewer if they are large.

    One more than are wanted says that there are more.
    """
    shown = fitting(found[:count])
    return Slice(load(shown), len(found) > len(shown))


def fitting(found: Sequence[Sized[Key]], most: int = MOST_BYTES) -> list[Key]:
    """The first of these, as many as fit by their sizes, but at least one."""
    total = 0
    shown: list[Key] = []
    for one in found:
        total += one.size
        if shown and total > most:
            break
        shown.append(one.key)
    return shown
