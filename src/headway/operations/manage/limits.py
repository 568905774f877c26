"""Operations on limits and locks."""

from headway.domain.answers import LimitView, LockView
from headway.operations.bound import Call, serves
from headway.protocol import limits as protocol
from headway.protocol.limits import LimitBody
from headway.protocol.operation import Nothing, Page
from headway.scheduler.manage import limits
from headway.storage.engine.transaction import Transaction


@serves(protocol.list_limits)
def list_limits(call: Call[Nothing, Nothing], tx: Transaction) -> Page[LimitView]:
    """List limits and how much of each is in use."""
    return Page(items=limits.views(call.scheduler, tx))


@serves(protocol.get_limit)
def get_limit(call: Call[Nothing, Nothing], tx: Transaction) -> LimitView:
    """Get one limit."""
    return limits.view(call.scheduler, tx, call.path["name"])


@serves(protocol.put_limit)
def put_limit(call: Call[LimitBody, Nothing], tx: Transaction) -> LimitView:
    """Define or change a limit."""
    return limits.put(
        call.scheduler, tx, call.path["name"], size=call.body.size, rate=call.body.rate
    )


@serves(protocol.delete_limit)
def delete_limit(call: Call[Nothing, Nothing], tx: Transaction) -> LimitView:
    """Remove a limit that no active job names."""
    return limits.remove(call.scheduler, tx, call.path["name"])


@serves(protocol.list_locks)
def list_locks(_: Call[Nothing, Nothing], tx: Transaction) -> Page[LockView]:
    """List locks that are held or waited for."""
    return Page(items=limits.locks(tx))
