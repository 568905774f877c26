"""Repair: mend what `verify` finds, in one transaction; what would be a guess is left."""

from collections.abc import Iterable

import msgspec

from headway.domain import errors
from headway.scheduler.admit import live_workers
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep.remedies import ADVICE, REMEDIES, Mending
from headway.storage.engine.transaction import Transaction
from headway.storage.upkeep import invariants
from headway.storage.upkeep.invariants import Finding

MOST_MENDED = 1_000_000
"""How many cases of the same problem are mended at once."""

MOST_PASSES = 3
"""To mend one thing can uncover another."""


NOT_TAKEN_BACK = frozenset({"verify_numbers"})
"""Rules whose remedy outlives a rollback: PostgreSQL never takes back a number."""


class Line(msgspec.Struct, frozen=True):
    """A problem, and what is done about it or has to be."""

    problem: str
    remedy: str


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair mends and what it leaves."""

    mended: list[Line]
    left: list[Line]


def plan(scheduler: Scheduler) -> Repair:
    """What a repair would do: it is done, and taken back."""
    try:
        scheduler.store.write(lambda tx: _rehearse(scheduler, tx))
    except _Rehearsed as done:
        return done.repair
    raise AssertionError("a rehearsal always ends with what it found")


def repair(scheduler: Scheduler) -> Repair:
    """Mend everything that can be mended without a guess."""
    return scheduler.store.write(lambda tx: mend(scheduler, tx))


class _Rehearsed(Exception):
    """Takes back what was done, and says what it was."""

    def __init__(self, repair: Repair) -> None:
        super().__init__()
        self.repair = repair


def _rehearse(scheduler: Scheduler, tx: Transaction) -> None:
    raise _Rehearsed(mend(scheduler, tx, spared=NOT_TAKEN_BACK))


def mend(scheduler: Scheduler, tx: Transaction, *, spared: frozenset[str] = frozenset()) -> Repair:
    """Mend, and see what that has left; rules that are spared count as mended."""
    found = dict.fromkeys(invariants.find_all(tx, MOST_MENDED))
    left = list(found)
    for _ in range(MOST_PASSES):
        if not any(one.rule in REMEDIES for one in left):
            break
        _mend_once(scheduler, tx, spared)
        left = [one for one in invariants.find_all(tx, MOST_MENDED) if one.rule not in spared]
        found |= dict.fromkeys(left)
    remaining = set(left)
    return Repair(
        mended=[_mended(one) for one in found if one not in remaining],
        left=[Line(one.sentence, _advice(one)) for one in left],
    )


def _mend_once(scheduler: Scheduler, tx: Transaction, spared: frozenset[str]) -> None:
    for rule, remedy in REMEDIES.items():
        if rule in spared:
            continue
        subjects = [one.subject for one in invariants.find(tx, rule, MOST_MENDED)]
        if subjects:
            remedy.mend(Mending(scheduler, tx), [*dict.fromkeys(subjects)])


def _mended(one: Finding) -> Line:
    remedy = REMEDIES.get(one.rule)
    return Line(one.sentence, remedy.text if remedy else "it follows from what else is mended")


def _advice(one: Finding) -> str:
    return ADVICE.get(one.rule, "it could not be mended: restore a backup")


def refuse_while_served(scheduler: Scheduler) -> None:
    """Refuse to repair a store that a server uses."""
    found = scheduler.store.read(lambda tx: _servers(scheduler, tx))
    for host, pid in found:
        raise errors.Conflict(
            f"a server uses the database (process {pid} on {host}); stop it first, and try again"
        )


def _servers(scheduler: Scheduler, tx: Transaction) -> Iterable[tuple[str, int]]:
    workers = live_workers.known_workers(scheduler, tx, with_jobs=False)
    return [(one.host, one.pid) for one in workers if one.built_in and one.alive]
