"""The consequences of jobs that ended, wave after wave, in the transaction in which they ended.

A job that ended may leave a retry, free locks, meet or break dependencies, decide its group and
call for webhooks. Jobs that are blocked by that have ended too, so it goes on until nothing moves,
or until so many jobs were looked at that the others are left to later transactions.
"""

from collections.abc import Collection, Sequence

from headway.domain import events, states
from headway.domain.gates import after
from headway.domain.jobs import Policy
from headway.domain.states import JobStatus
from headway.scheduler import alone
from headway.scheduler.admit import claim_waits, lane_waits, postponed
from headway.scheduler.admit.admit import Admission, admit
from headway.scheduler.admit.insert import insert
from headway.scheduler.admit.standing import Blocked
from headway.scheduler.finish import group_consequences, outbox
from headway.scheduler.finish.decide import Facts, Wave, chains_with_other_links, decide
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.retries import retry_job
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, dependencies, holds, jobs, locks, needs
from headway.storage.admit import lock_lines, watches
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.manage import markers, webhooks
from headway.storage.manage.webhooks import Endpoint


def settle(scheduler: Scheduler, tx: Transaction, ended: Sequence[Ended]) -> None:
    """Record these ends and everything that follows from them."""
    admission = Admission(scheduler, tx)
    room = postponed.AT_ONCE
    while ended or admission.goes_on:
        more, stopped = _consequences(scheduler, tx, ended) if ended else (set[int](), [])
        taken = _as_many_as_fit(tx, more, room)
        room -= len(taken)
        blocked = admission.round(
            taken,
            ended=[one.record for one in ended],
            ending=[one.record.number for one in stopped],
        )
        ended = [*stopped, *(_blocked(one) for one in blocked)]
    admission.end()


def admit_or_end(
    scheduler: Scheduler,
    tx: Transaction,
    numbers: Collection[int] = (),
    *,
    freed: Collection[str] = (),
    tried: Collection[int] = (),
) -> None:
    """Admit jobs and those that wait for freed locks; those that can never start end."""
    blocked = admit(scheduler, tx, numbers, freed=freed, tried=tried)
    settle(scheduler, tx, [_blocked(one) for one in blocked])


def _as_many_as_fit(tx: Transaction, numbers: set[int], room: int) -> set[int]:
    """Those of these jobs that are looked at in this transaction; the others are put off."""
    if len(numbers) <= room:
        return numbers
    first = set(sorted(numbers)[:room])
    postponed.put_off(tx, numbers - first)
    return first


def _blocked(one: Blocked) -> Ended:
    return Ended(
        record=one.record,
        status=one.status,
        reason=one.reason,
        gate=one.reason.kind,
        blockers=one.blockers,
        retry=False,
    )


def _consequences(
    scheduler: Scheduler, tx: Transaction, ended: Sequence[Ended]
) -> tuple[set[int], list[Ended]]:
    """One wave: return jobs whose gates must be looked at again, and jobs that end because of it.

    What follows is decided first and then recorded, down to the members of groups.
    """
    alone.to_end(tx, (one.record for one in ended))
    facts, endpoints = _gather(scheduler, tx, ended)
    wave = decide(ended, facts, now=tx.now, chance=scheduler.chance)
    _record_ends(tx, wave)
    new_jobs = [
        retry_job(scheduler, tx, one.record, one.moment, crashes=one.crashes)
        for one in wave.retries
    ]
    new_jobs += [one.successor for one in ended if one.successor is not None]
    waiting = set(insert(tx, new_jobs).to_admit) if new_jobs else set()
    waiting |= group_consequences.hand_on_predecessors(tx, wave.final)
    waiting |= _meet(tx, wave.succeeded, states.SUCCEEDED) | _meet(tx, wave.failed, states.FAILED)
    waiting |= _record_markers(tx, wave)
    outbox.add(scheduler, tx, ended, endpoints)
    stopped, behind_groups = group_consequences.decide(scheduler, tx, wave.final)
    tx.wake(READY)
    return waiting | behind_groups, stopped


def _gather(
    scheduler: Scheduler, tx: Transaction, ended: Sequence[Ended]
) -> tuple[Facts, Sequence[Endpoint]]:
    """What must be known of the store to decide what follows, and who is told of it."""
    waits = lane_waits.met_now(scheduler, tx, [one.record for one in ended if one.record.is_ready])
    claimed = [one.record for one in ended if one.record.status in states.CLAIMS]
    waits |= claim_waits.met(scheduler, tx, claimed)
    awaited, kinds, endpoints = tx.ask(
        dependencies.awaited([one.record.chain for one in ended]),
        needs.KINDS_THAT_NAME_JOBS,
        webhooks.ENDPOINTS,
    )
    facts = Facts(
        waited_on=waits,
        awaited=awaited,
        kinds=frozenset(kinds),
        links=_other_links(tx, ended) if kinds else {},
    )
    return facts, endpoints


def _other_links(tx: Transaction, ended: Sequence[Ended]) -> dict[str, int]:
    wanted = chains_with_other_links(ended)
    return chains.numbers_with_history(tx, wanted) if wanted else {}


def _record_ends(tx: Transaction, wave: Wave) -> None:
    jobs.end(tx, wave.ends)
    tx.note_all(events.FINISHED, wave.history)
    watches.remove(tx, wave.unwatched)
    locks.free(tx, wave.unlocked)
    lock_lines.leave(tx, wave.unlocked)


def _meet(tx: Transaction, ended: Sequence[int], status: JobStatus) -> set[int]:
    """Dependents of chains that ended so whose last open dependency was met, or one broke."""
    if not ended:
        return set()
    holds.dependents(tx, ended)
    return dependencies.meet(
        tx, ended, [policy for policy in Policy if after.satisfies(status, policy)]
    )


def _record_markers(tx: Transaction, wave: Wave) -> set[int]:
    """Set and remove markers; return the jobs that wait for what these jobs made, or lost it."""
    marks = wave.markers
    markers.make(tx, marks.marked)
    waiting = needs.waiting_consumers(tx, wave.looked_for)
    if not marks.gone:
        return waiting
    markers.unmake(tx, marks.gone, marks.failed)
    # A job that found a marker there and has not started finds it gone.
    return waiting | set(needs.consumers(tx, marks.gone))
