"""Python values as JSON, and back to the types that a handler declares.

msgspec knows what JSON and the standard library have, dataclasses, TypedDicts and its own structs.
Pydantic models are known by their methods, so that nothing here needs pydantic.
"""

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Never, NoReturn

import msgspec
import msgspec.inspect

from headway.domain import taken

USABLE = "a dataclass, a TypedDict, a msgspec struct or a pydantic model"


def plain(value: Any) -> Any:
    """The value as JSON has it; a TypeError names what JSON cannot say."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_to_json)


def encode(value: Any) -> bytes:
    """The value written as JSON; a TypeError names what JSON cannot say."""
    return _ENCODER.encode(value)


def stored(what: str, value: Any, limit: int) -> Any:
    """The value as JSON has it; a ValueError says what it cannot say, or that it is too large."""
    try:
        encoded = encode(value)
        if b"null" in encoded:  # which is what NaN and infinity would become
            json.dumps(plain(value), allow_nan=False)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        kind = type(value).__name__
        raise ValueError(f"{what} (of type {kind}) cannot be written as JSON: {error}") from None
    if len(encoded) > limit:
        raise ValueError(f"{what} has {len(encoded)} bytes as JSON, the limit is {limit}")
    return msgspec.json.decode(encoded)


def restore(value: Any, kind: Any) -> Any:
    """A value of this type from a JSON value, or msgspec's ValidationError."""
    return msgspec.convert(value, kind, str_keys=True, dec_hook=_from_json)


def readable(kind: Any) -> Any:
    """The type as `restore` takes it: what says nothing about the value is Any."""
    return Any if kind in (object, Never, NoReturn) else kind


def refuse_unusable(kind: Any) -> None:
    """Raise a TypeError for a type that no JSON value could be restored to."""
    for found in _classes(msgspec.inspect.type_info(kind), set()):
        if not (found is object or _is_model(found) or issubclass(found, PurePath)):
            name = found.__qualname__ if found.__module__ == "builtins" else _full_name(found)
            raise TypeError(f"{name} cannot be restored from JSON; use {USABLE}")


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _classes(node: Any, seen: set[int]) -> Iterator[type]:
    """The classes in a type that msgspec leaves to its caller."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, msgspec.inspect.CustomType):
        yield node.cls
    elif isinstance(node, tuple):
        for one in node:
            yield from _classes(one, seen)
    elif isinstance(node, msgspec.inspect.Type | msgspec.inspect.Field):
        for name in node.__struct_fields__:
            yield from _classes(getattr(node, name), seen)


def _is_model(kind: type) -> bool:
    return hasattr(kind, "model_validate_json") and hasattr(kind, "model_dump")


def _to_json(value: Any) -> Any:
    if _is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True, round_trip=True)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, taken.Value):
        return taken.reference(value)
    raise TypeError(f"a value of type {_full_name(type(value))} cannot be written as JSON")


def _from_json(kind: type, value: Any) -> Any:
    if kind is object:
        return value
    if _is_model(kind):
        return _validated(kind, value)
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    raise ValueError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _validated(model: Any, value: Any) -> Any:
    """A pydantic model, read as from JSON: a strict one then still takes dates as text."""
    try:
        return model.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        raise ValueError(_problems(error)) from None


def _problems(error: Any) -> str:
    """What pydantic found, without what was given: that may be a secret."""
    if not hasattr(error, "errors"):
        return str(error)
    return "; ".join(
        ": ".join(part for part in (".".join(map(str, one["loc"])), one["msg"]) if part)
        for one in error.errors(include_url=False, include_input=False)
    )


_ENCODER = msgspec.json.Encoder(enc_hook=_to_json)
