"""A store that was put together from what could be read: what follows from the rest is restored."""

from collections.abc import Callable, Sequence
from functools import partial

from headway.domain import states
from headway.domain.gates import after
from headway.domain.jobs import After, AfterGroup
from headway.domain.manage.groups import ENDED
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import repair
from headway.storage import chains
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups
from headway.storage.records import JobRecord
from headway.storage.upkeep import repairs

BATCH = 500

STARTED = frozenset(
    states.CLAIMS | states.SUCCESS | {states.RUNNING, states.FAILED, states.TIMEOUT}
)
"""Whatever these jobs came after let them start."""


Work = Callable[[Sequence[JobRecord], Transaction], None]


def restore(scheduler: Scheduler) -> repair.Repair:
    """Restore what jobs say of themselves, mend what the loss broke, check every gate."""
    scheduler.store.write(repairs.raise_numbers)
    _for_all(scheduler, _restore_edges)
    done = repair.repair(scheduler)
    _for_all(scheduler, partial(_admit, scheduler))
    return done


def _for_all(scheduler: Scheduler, work: Work) -> None:
    last = 0
    while found := scheduler.store.read(partial(_page, last)):
        scheduler.store.write(partial(work, found))
        last = found[-1].number


def _page(last: int, tx: Transaction) -> list[JobRecord]:
    return repairs.jobs_with_terms(tx, last, BATCH)


def _restore_edges(found: Sequence[JobRecord], tx: Transaction) -> None:
    awaited = {one.number for record in found for one in record.terms.after}
    links = chains.deciding_links(tx, awaited)
    after_groups = {one.number for record in found for one in record.terms.after_groups}
    known_groups = groups.by_chains(tx, after_groups)

    def is_met(record: JobRecord, one: After | AfterGroup) -> bool:
        if record.status in STARTED:
            return True
        if isinstance(one, AfterGroup):
            group = known_groups.get(one.number)
            if group is None or group.status not in ENDED:
                return False
            return after.group_satisfies(group.status, one.policy)
        link = links.get(one.number)
        if link is None or link.status not in states.TERMINAL:
            return False
        return after.satisfies(link.status, one.policy)

    repairs.restore_edges(tx, found, is_met)
    repairs.count_open_dependencies(tx, [one.number for one in found])


def _admit(scheduler: Scheduler, found: Sequence[JobRecord], tx: Transaction) -> None:
    waiting = [one.number for one in found if one.status in states.WAITING]
    consequences.admit_or_end(scheduler, tx, waiting)
