"""Is everything in the store as it must be?"""

import msgspec

from headway.domain import errors
from headway.scheduler.scheduler import Scheduler
from headway.storage.upkeep import invariants


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
        broken = scheduler.store.read(invariants.broken)
    except errors.DatabaseDamaged:
        if not damage:
            raise
        broken = []
    return Findings(damage=damage, broken=broken)


def verify(scheduler: Scheduler) -> list[str]:
    """Everything that is wrong, in one list."""
    found = examine(scheduler)
    return [*found.damage, *found.broken]
