"""The operation on the history."""

import msgspec

from headway.domain.events import Event
from headway.domain.manage.tokens import Role
from headway.protocol.operation import Opens, Page, operation


class EventQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened after a line of history or after the last page, or the last lines there are."""

    after: int = 0
    last: int | None = None
    limit: int = 50
    cursor: str | None = None


list_events = operation(
    "GET", "/api/events", Role.READ, query=EventQuery, answer=Page[Event], opens=Opens.BLOCKING
)
