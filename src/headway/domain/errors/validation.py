"""The text of a msgspec ValidationError as values: msgspec reports the field only as text.

This is the only file that parses it.
"""

import re
from typing import NamedTuple

_AT = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`$")
_NAMED = re.compile(r"(?:missing required|unknown) field `(?P<name>[^`]*)`")
_EXPECTED = re.compile(r"Expected `(?P<type>[^`]*)`, got ")


class Problem(NamedTuple):
    """What does not fit: where, why, and which type was expected there."""

    path: str
    text: str
    named: str = ""
    """A field that is missing or unknown at the path."""
    expects: str | None = None

    @property
    def field(self) -> str:
        """The field to correct, with its path."""
        return ".".join(part for part in (self.path, self.named) if part)


def read(error: Exception, within: str = "") -> Problem:
    """The problem of a value that was at this path of a larger one."""
    message = str(error)
    at = _AT.search(message)
    text = message[: at.start()] if at else message
    named = _NAMED.search(text)
    expected = _EXPECTED.match(text)
    return Problem(
        path=_joined(within, at["path"] if at else ""),
        text=text,
        named=named["name"] if named else "",
        expects=expected["type"] if expected else None,
    )


def _joined(outer: str, inner: str) -> str:
    dot = "." if outer and inner and not inner.startswith("[") else ""
    return f"{outer}{dot}{inner}"
