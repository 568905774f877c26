"""The operation that lists the history."""

from headway.domain import errors
from headway.domain.events import Event
from headway.operations import paging
from headway.operations.bound import Call, serves_blocking
from headway.protocol import events as protocol
from headway.protocol.events import EventQuery
from headway.protocol.operation import Nothing, Page
from headway.storage import events

LAST_SEQ = 2**63 - 1


@serves_blocking(protocol.list_events)
def list_events(call: Call[Nothing, EventQuery]) -> Page[Event]:
    """List the history, oldest first; with `Accept: text/event-stream`, stream it live."""
    if call.query.last is not None:
        return _last(call, paging.check_limit(call.query.last, "last"))
    limit = paging.check_limit(call.query.limit)
    if not 0 <= call.query.after <= LAST_SEQ:
        raise errors.InvalidRequest("after", f"{call.query.after} is not an event number")
    seq = paging.read_number(call.query.cursor) or call.query.after
    found = events.settled(call.scheduler.store.read, seq, limit + 1)
    return paging.page(found, limit, lambda event: event.seq)


def _last(call: Call[Nothing, EventQuery], count: int) -> Page[Event]:
    if call.query.after or call.query.cursor:
        raise errors.InvalidRequest("last", "give either last, or after and a cursor")
    read = call.scheduler.store.read
    seq = read(lambda tx: events.before_last(tx, count))
    return Page(items=events.settled(read, seq, count))
