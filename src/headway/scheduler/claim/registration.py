"""Workers make themselves known; jobs that only a new one can take have waited for it."""

from typing import Any

from headway.domain import errors
from headway.domain.workers import Abilities
from headway.scheduler.admit import lane_waits
from headway.scheduler.admit.live_workers import silent_since
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers

MOST_OF_ONE_TOKEN = 1000
"""What is asked of every worker is asked of so many at most for one token."""


def check_room(scheduler: Scheduler, tx: Transaction, token_id: str | None) -> None:
    """Refuse one more worker of a token that has very many; those that are silent do not count."""
    if workers.count_of_token(tx, token_id) < MOST_OF_ONE_TOKEN:
        return
    workers.leave_silent(tx, token_id, until=silent_since(scheduler, tx))
    if workers.count_of_token(tx, token_id) >= MOST_OF_ONE_TOKEN:
        raise errors.TooManyWorkers(MOST_OF_ONE_TOKEN)


def see(
    scheduler: Scheduler, tx: Transaction, *, worker_id: str, abilities: Abilities, **facts: Any
) -> None:
    """Register or refresh a worker; one that was known before changes nothing for the lanes."""
    before = workers.standing(tx, worker_id)
    if (
        before is None
        or before.last_seen <= silent_since(scheduler, tx)
        or before.abilities != abilities
    ):
        with lane_waits.kept(scheduler, tx):
            workers.see(tx, worker_id=worker_id, abilities=abilities, **facts)
    else:
        workers.see(tx, worker_id=worker_id, abilities=abilities, **facts)
