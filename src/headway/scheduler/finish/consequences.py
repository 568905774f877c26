"""The consequences of jobs that ended, wave after wave, in the transaction in which they ended.

A job that ended may leave a retry, free locks, meet or break dependencies, decide its group and
call for webhooks. Jobs that are blocked by that have ended too, so it goes on until nothing moves,
or until so many jobs were looked at that the others are left to later transactions.
"""

from collections.abc import Collection, Sequence

from headway.domain import artifacts, events, states
from headway.domain.gates import after
from headway.domain.jobs import Policy
from headway.domain.states import JobStatus
from headway.scheduler.admit import lane_waits, lock_queues, postponed
from headway.scheduler.admit.admit import Admission, admit
from headway.scheduler.admit.insert import insert
from headway.scheduler.admit.standing import Blocked
from headway.scheduler.finish import group_consequences, outbox
from headway.scheduler.finish.decide import Wave, chains_with_other_links, decide, names_of_jobs
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.retries import retry_job
from headway.scheduler.scheduler import Scheduler
from headway.storage import holds, jobs, records
from headway.storage.engine.transaction import READY, Transaction
from headway.storage.records import JobRecord


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
    if tx.beside and any(_touches_others(one.record) for one in ended):
        tx.alone()
    tx.expect("needs_that_name_jobs", kinds=_NAMING_JOBS)
    tx.expect("webhooks")
    ready = [one.record for one in ended if one.record.is_ready]
    waits = lane_waits.met_now(scheduler, tx, ready)
    wave = decide(ended, now=tx.now, chance=scheduler.chance, waited_on=waits)
    _record_ends(tx, wave)
    new_jobs = [retry_job(scheduler, tx, record, moment) for record, moment in wave.retries]
    new_jobs += [one.successor for one in ended if one.successor is not None]
    waiting = set(insert(tx, new_jobs).to_admit) if new_jobs else set()
    waiting |= group_consequences.hand_on_predecessors(tx, wave.final)
    waiting |= _meet(tx, wave.succeeded, states.SUCCEEDED) | _meet(tx, wave.failed, states.FAILED)
    waiting |= _record_markers(tx, wave)
    _release_locks(tx, wave)
    outbox.add(scheduler, tx, ended)
    stopped = group_consequences.decide(scheduler, tx, wave.final)
    tx.wake(READY)
    return waiting, stopped


def _touches_others(record: JobRecord) -> bool:
    """Whether the end of a job concerns more than itself and the jobs that come after it."""
    return bool(record.gated or record.group_id or record.says("produces"))


def _record_ends(tx: Transaction, wave: Wave) -> None:
    jobs.end(tx, wave.ends)
    tx.note_all(events.FINISHED, wave.history)
    if wave.unwatched:
        tx.do("remove_watches", numbers=records.listed(wave.unwatched))


def _meet(tx: Transaction, chains: Sequence[int], status: JobStatus) -> set[int]:
    """Dependents of chains that ended so whose last open dependency was met, or one broke."""
    listed = records.listed(chains) if chains else ""
    if not chains or not tx.rows("any_dependents", chains=listed):
        return set()
    policies = records.listed(policy for policy in Policy if after.satisfies(status, policy))
    if tx.beside:
        holds.jobs(tx, [row["job_number"] for row in tx.rows("dependents", chains=listed)])
    lowered = tx.rows("lower_open_deps", chains=listed, policies=policies)
    tx.put("meet_dependencies", chains=listed, policies=policies)
    broken = {row["job_number"] for row in tx.rows("dependents", chains=listed)}
    return broken | {row["number"] for row in lowered if row["open_deps"] == 0}


def _record_markers(tx: Transaction, wave: Wave) -> set[int]:
    """Set and remove markers; return the jobs that wait for what these jobs made, or lost it."""
    markers = wave.markers
    tx.many(
        "put_marker",
        [
            {"artifact": name, "job_number": number, "created_at": tx.now_ms}
            for name, number in markers.marked
        ],
    )
    gone = records.listed(markers.gone) if markers.gone else None
    if gone:
        tx.do("unmake_markers", artifacts=gone, makers=records.listed(markers.failed))
    names = [*markers.made, *_names_of_jobs(tx, wave)]
    rows = tx.rows("waiting_consumers", artifacts=records.listed(names)) if names else ()
    # A job that found a marker there and has not started finds it gone.
    found_it = tx.rows("consumers", artifacts=gone) if gone else ()
    return {row["job_number"] for row in (*rows, *found_it)}


def _names_of_jobs(tx: Transaction, wave: Wave) -> Sequence[str]:
    """The artifacts that the success of these jobs is, if a job needs such."""
    kinds = {row["kind"] for row in tx.rows("needs_that_name_jobs", kinds=_NAMING_JOBS)}
    if not kinds:
        return ()
    chains = chains_with_other_links(wave.final)
    links = tx.rows("chain_links", chains=records.with_history(chains)) if chains else ()
    return names_of_jobs(wave.final, kinds, {row["job_id"]: row["number"] for row in links})


_NAMING_JOBS = records.listed(artifacts.NAMING_JOBS)


def _release_locks(tx: Transaction, wave: Wave) -> None:
    """Release locks, and leave the queues for them."""
    if wave.unlocked:
        tx.rows("free_locks", numbers=records.listed(wave.unlocked))
        lock_queues.leave(tx, wave.unlocked)
