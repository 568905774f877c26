"""Words in a mapping become a value: `{"key": "gpu", "mode": "shared"}` a lock."""

from typing import Any, TypeVar

import msgspec

from headway.domain import errors

Value = TypeVar("Value")


def read(field: str, words: Any, kind: type[Value]) -> Value:
    """The value that the words mean; what does not fit is named with its place."""
    try:
        return msgspec.convert(words, kind)
    except msgspec.ValidationError as error:
        found = errors.from_validation(error)
        raise errors.InvalidRequest(field, found.detail) from None
