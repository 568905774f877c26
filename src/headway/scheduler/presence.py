"""Workers make themselves known; jobs that only a new one can take have waited for it."""

from typing import Any

from headway.domain.workers import Abilities
from headway.scheduler import lane_waits
from headway.scheduler.known_workers import silent_since
from headway.scheduler.scheduler import Scheduler
from headway.storage import codec, workers
from headway.storage.transaction import Transaction


def see(
    scheduler: Scheduler, tx: Transaction, *, worker_id: str, abilities: Abilities, **facts: Any
) -> None:
    """A worker says that it is there; one that was there before changes nothing for the lanes."""
    row = tx.row("worker_standing", worker_id=worker_id)
    if (
        row is None
        or row["last_seen"] <= silent_since(scheduler, tx)
        or row["abilities"] != codec.dump(abilities)
    ):
        with lane_waits.kept(scheduler, tx):
            workers.see(tx, worker_id=worker_id, abilities=abilities, **facts)
    else:
        workers.see(tx, worker_id=worker_id, abilities=abilities, **facts)
