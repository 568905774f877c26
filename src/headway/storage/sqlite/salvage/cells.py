"""The cells of a page, and the values of a record in one. Nothing in them is trusted."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from headway.storage.sqlite.salvage.pages import Image

TABLE_LEAF, TABLE_INNER = 13, 5
INDEX_LEAF, INDEX_INNER = 10, 2
KINDS = frozenset({TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER})
INNER = frozenset({TABLE_INNER, INDEX_INNER})

Value = int | float | str | bytes | None

_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""How many bytes an integer of each type has."""


class Unreadable(Exception):
    """These bytes are not what they should be."""


class Cell(NamedTuple):
    """A row with its rowid, an entry of an index, or only the way to a page further down."""

    child: int | None = None
    rowid: int | None = None
    values: tuple[Value, ...] | None = None


class Page(NamedTuple):
    """A page of a tree: its kind, where its cells are, and the last page below it."""

    kind: int
    content: bytes
    cells: tuple[int, ...]
    last_child: int | None


def read_page(image: Image, number: int) -> Page:
    """A page of a tree."""
    content = image.page(number)
    start = 100 if number == 1 else 0
    if content is None or content[start] not in KINDS:
        raise Unreadable
    kind = content[start]
    count = int.from_bytes(content[start + 3 : start + 5], "big")
    pointers = start + (12 if kind in INNER else 8)
    if pointers + 2 * count > image.usable:
        raise Unreadable
    places = struct.unpack(f">{count}H", content[pointers : pointers + 2 * count])
    last = int.from_bytes(content[start + 8 : start + 12], "big") if kind in INNER else None
    return Page(kind, content, places, last)


def read_cell(image: Image, page: Page, at: int, used: set[int]) -> Cell:
    """A cell; pages that it goes on in are added to `used`."""
    try:
        return _read_cell(image, page, at, used)
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError):
        raise Unreadable from None


def _read_cell(image: Image, page: Page, at: int, used: set[int]) -> Cell:
    child = rowid = None
    if page.kind in INNER:
        child = int.from_bytes(page.content[at : at + 4], "big")
        at += 4
    if page.kind == TABLE_INNER:
        return Cell(child)
    size, at = _varint(page.content, at)
    if page.kind == TABLE_LEAF:
        rowid, at = _varint(page.content, at)
        rowid = rowid - (1 << 64) if rowid >= 1 << 63 else rowid
    payload = _payload(image, page, at, size, used)
    return Cell(child, rowid, tuple(_values(payload)))


def _payload(image: Image, page: Page, at: int, size: int, used: set[int]) -> bytes:
    usable = image.usable
    if not 0 < size <= image.count * usable:
        raise Unreadable
    most = usable - 35 if page.kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return _exactly(page.content[at : at + size], size)
    least = (usable - 12) * 32 // 255 - 23
    here = least + (size - least) % (usable - 4)
    here = here if here <= most else least
    found = _exactly(page.content[at : at + here], here)
    following = int.from_bytes(page.content[at + here : at + here + 4], "big")
    while len(found) < size:
        content = image.page(following)
        if content is None or following in used:
            raise Unreadable
        used.add(following)
        found += content[4 : 4 + min(usable - 4, size - len(found))]
        following = int.from_bytes(content[:4], "big")
    return found


def _exactly(found: bytes, size: int) -> bytes:
    if len(found) != size:
        raise Unreadable
    return found


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = content[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | content[at + 8], at + 9


def _values(payload: bytes) -> Iterator[Value]:
    """The values of a record; its header must account for every byte."""
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != end or not kinds:
        raise Unreadable
    for kind in kinds:
        size = _size(kind)
        yield _value(kind, _exactly(payload[at : at + size], size))
        at += size
    if at != len(payload):
        raise Unreadable


def _size(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind in (10, 11):
        raise Unreadable
    return 8 if kind == 7 else _INTEGERS.get(kind, 0)


def _value(kind: int, content: bytes) -> Value:
    if kind == 0:
        return None
    if kind in _INTEGERS:
        return int.from_bytes(content, "big", signed=True)
    if kind == 7:
        return float(struct.unpack(">d", content)[0])
    if kind in (8, 9):
        return kind - 8
    return content.decode() if kind % 2 else content
