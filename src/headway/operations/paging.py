"""Cursors: opaque to the caller, the last item's key to us."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from headway.domain import errors
from headway.protocol.operation import MOST_ON_A_PAGE, Page
from headway.storage.engine.slices import MOST_BYTES, Slice

Item = TypeVar("Item")


def check_limit(limit: int, field: str = "limit") -> int:
    """A page has 1 to 200 items."""
    if not 1 <= limit <= MOST_ON_A_PAGE:
        raise errors.InvalidRequest(field, f"{limit} is not between 1 and {MOST_ON_A_PAGE}")
    return limit


def write_cursor(key: object) -> str:
    """A cursor that continues after this key."""
    return base64.urlsafe_b64encode(str(key).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> str | None:
    """The key inside a cursor."""
    if cursor is None:
        return None
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, UnicodeError, ValueError):
        raise errors.InvalidRequest("cursor", "invalid cursor") from None


def read_number(cursor: str | None) -> int | None:
    """The number inside a cursor."""
    key = read_cursor(cursor)
    if key is None:
        return None
    if not key.isascii() or not key.isdecimal() or len(key) > 18:
        raise errors.InvalidRequest("cursor", "invalid cursor")
    return int(key)


def page(found: Sequence[Item], limit: int, key: Callable[[Item], object]) -> Page[Item]:
    """A page of what was found, when one more than asked for was looked up."""
    return page_of(Slice(list(found[:limit]), len(found) > limit), key)


def page_of(found: Slice[Item], key: Callable[[Item], object]) -> Page[Item]:
    """A page of a slice; it ends early where it would become too large, but has one item."""
    shown: list[Item] = []
    size = 0
    for item in found.items:
        size += len(msgspec.json.encode(item))
        if shown and size > MOST_BYTES:
            break
        shown.append(item)
    more = found.more or len(shown) < len(found.items)
    return Page(items=shown, next_cursor=write_cursor(key(shown[-1])) if more else None)
