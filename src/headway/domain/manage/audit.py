"""The audit log: who changed what, and refused logins."""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

LOGIN_REFUSED = "login_refused"
UNKNOWN = "unknown"
"""The actor of a refused login."""

KEPT_DAYS = 400
"""How long entries are kept at least, whatever is collected."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change by a person or a token, or logins that were refused."""

    entry_id: str
    at: datetime
    actor: str
    role: str | None = None
    token_id: str | None = None
    action: str
    target: str | None = None


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as few words as possible: `3-7, 9`."""
    return ", ".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _runs(numbers)
    )


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for number in sorted(numbers):
        if first is not None and last is not None and number <= last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last
