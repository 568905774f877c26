"""Words in query parameters."""

from enum import StrEnum
from typing import TypeVar

from headway.domain import errors

Word = TypeVar("Word", bound=StrEnum)


def read_word(field: str, text: str | None, words: type[Word]) -> Word | None:
    """A status word in any case."""
    if text is None:
        return None
    try:
        return words(text.strip().upper())
    except ValueError:
        known = ", ".join(words)
        raise errors.InvalidRequest(field, f"{text!r} is not one of {known}") from None


def read_flag(field: str, text: str) -> bool:
    """True or false; the bare name of a parameter means true."""
    word = text.strip().lower()
    if word in ("", "true", "1", "yes"):
        return True
    if word in ("false", "0", "no"):
        return False
    raise errors.InvalidRequest(field, f"{text!r} is neither true nor false")
