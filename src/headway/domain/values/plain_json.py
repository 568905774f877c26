"""What JSON cannot represent, found before it is sent or stored."""

import itertools
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from headway.domain import errors, taken
from headway.domain.taken import Taken

DEEPEST = 100


class Checked(dict[str, Any]):
    """An object in which nothing was found that JSON cannot say: it need not be walked again."""

    __slots__ = ("taken", "text")

    def __init__(
        self, value: Mapping[str, Any], text: bytes | None = None, taken: tuple[Taken, ...] = ()
    ) -> None:
        super().__init__(value)
        self.text = text
        """The object as JSON, if it was written already."""
        self.taken = taken
        """What it takes from the results of jobs."""


def checked(value: Mapping[str, Any], field: str, largest: int) -> Checked:
    """The object, checked, and refused if it is larger than so many bytes.

    Walking a megabyte in Python takes a second; its text is searched in a hundredth of that. Only
    an object that is refused is walked, to name the place.
    """
    if isinstance(value, Checked):
        return value
    try:
        text = msgspec.json.encode(value)
    except (UnicodeEncodeError, RecursionError):
        text = None
    if text is not None and len(text) > largest:
        raise errors.TooLarge(field, len(text), largest)
    if text is None or _is_suspicious(value, text):
        refuse_nonsense(value, field)
    return Checked(value, text, _taken(value, text, field))


def joined(stored: Mapping[str, Any], given: Checked) -> Checked:
    """An object that was checked when it was stored, and one that wins where both say something."""
    whole = {**stored, **given}
    text = msgspec.json.encode(whole)
    return Checked(whole, text, _taken(whole, text, "params"))


def _taken(value: Mapping[str, Any], text: bytes | None, field: str) -> tuple[Taken, ...]:
    return taken.find(value, field) if text is not None and taken.MARK in text else ()


def _is_suspicious(value: Any, text: bytes) -> bool:
    """Whether the text of a value shows that something is wrong with it."""
    if b"\\u0000" in text and _NUL.search(text):
        return True
    if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(text) > DEEPEST:
        return True
    return b"null" in text and _has_no_number(value)


_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS = [(chr(code) in "[{") - (chr(code) in "]}") for code in range(256)]


def _depth(text: bytes) -> int:
    brackets = _STRING.sub(b"", text).translate(None, _NO_BRACKETS)
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _has_no_number(value: Any) -> bool:
    """Whether there is a NaN or an infinity, which the encoder writes as null."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return True
    return False


def refuse_nonsense(value: Any, field: str, depth: int = 0) -> None:
    """NaN and infinity, NULs and half characters, and JSON that nests too deeply."""
    if depth > DEEPEST:
        top = ".".join(field.split(".")[:2])
        raise errors.InvalidRequest(
            top.partition("[")[0], f"is nested deeper than {DEEPEST} levels"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise errors.InvalidRequest(field, f"{value} is not a JSON number")
    if isinstance(value, str):
        _refuse_broken(value, field)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_nonsense(key, field, depth + 1)
            refuse_nonsense(inner, f"{field}.{key}" if field else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            refuse_nonsense(inner, f"{field}[{place}]", depth + 1)


def _refuse_broken(text: str, field: str) -> None:
    """What not every database and no program takes."""
    if "\0" in text:
        raise errors.InvalidRequest(field, "contains a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise errors.InvalidRequest(field, "contains a lone surrogate") from None
