"""Values that come from outside: JSON that is decoded, and values made in Python."""

from typing import Any, TypeVar

import msgspec

from headway.domain import errors
from headway.protocol import pieces

Value = TypeVar("Value")


def decode(raw: bytes, kind: type[Value]) -> Value:
    """A body as a type; an empty one is an empty object."""
    try:
        value: Value = pieces.decode(raw or b"{}", kind)
        return value
    except msgspec.ValidationError as error:
        raise errors.from_validation(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.Malformed(f"the body is not JSON that can be read: {error}") from None


def checked(value: Any, kind: type[Value], *, strict: bool = True) -> Value:
    """A value made in Python, where types are only hints, as decoding its JSON would give it."""
    if value is None:
        return kind()
    try:
        return msgspec.convert(msgspec.to_builtins(value), kind, strict=strict)
    except msgspec.ValidationError as error:
        raise errors.from_validation(error) from None
