"""What JSON cannot say, found before it is lost on the way."""

import math
from collections.abc import Mapping
from typing import Any

from headway.domain import errors

DEEPEST = 100


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
