"""Is everything in the store as it must be?"""

import msgspec

from headway.domain import errors
from headway.scheduler.scheduler import Scheduler
from headway.storage.transaction import Transaction

MOST_SHOWN = 20
"""How many cases of the same problem are named."""

PROBLEMS = {
    "verify_running_without_lease": "job {} is RUNNING without a lease",
    "verify_running_without_open_run": "job {} is RUNNING without an open run",
    "verify_lease_without_running_job": "lease {} does not belong to a running job",
    "verify_open_run_without_running_job": "run {} is open, but its job is not running",
    "verify_open_dependencies": "job {} counts its open dependencies wrongly",
    "verify_lock_without_running_job": "lock {} is held by a job that is not running",
    "verify_conflicting_locks": "lock {} is held exclusively and by somebody else",
    "verify_claim_without_worker": "job {} is claimed without a worker or a time",
    "verify_two_active_links": "the chain of job {} has more than one active link",
    "verify_line_without_waiting": "job {} stands wrongly in the line for a lock",
    "verify_waiting_without_line": "job {} waits for locks but stands in no line",
    "verify_ends": "job {} ended otherwise than its run",
}


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, a line each."""

    damage: list[str]
    """What the database finds wrong with its own files."""

    broken: list[str]
    """Which of our own rules are broken, as far as the database can be read."""


def examine(scheduler: Scheduler) -> Findings:
    """Everything that is wrong; a database that cannot even be read is refused."""
    database = scheduler.store.database
    damage = database.damage()
    try:
        broken = [*database.orphans(), *scheduler.store.read(broken_rules)]
    except errors.DatabaseDamaged:
        if not damage:
            raise
        broken = []
    return Findings(damage=damage, broken=broken)


def verify(scheduler: Scheduler) -> list[str]:
    """Everything that is wrong, in one list."""
    found = examine(scheduler)
    return [*found.damage, *found.broken]


def broken_rules(tx: Transaction) -> list[str]:
    """Which of our own rules are broken, a line each."""
    return [
        sentence.format(row["subject"])
        for query, sentence in PROBLEMS.items()
        for row in tx.rows(query, count=MOST_SHOWN)
    ]
