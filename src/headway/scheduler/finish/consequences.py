"""The consequences of jobs that ended, wave after wave, in the transaction in which they ended.

A job that ended may leave a retry, free locks, meet or break dependencies, decide its group and
call for webhooks. Jobs that are blocked by that have ended too, so it goes on until nothing moves,
or until so many jobs were looked at that the others are left to later transactions.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from headway.domain import artifacts, events, retries, states
from headway.domain.gates import after
from headway.domain.jobs import Policy, RetryState
from headway.domain.states import JobStatus
from headway.scheduler.admit import lane_waits, lock_queues, postponed
from headway.scheduler.admit.admit import Admission, admit
from headway.scheduler.admit.insert import insert
from headway.scheduler.admit.standing import Blocked
from headway.scheduler.finish import group_consequences, outbox
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.retries import retry_job
from headway.scheduler.scheduler import Scheduler
from headway.storage import codec, holds, jobs, records
from headway.storage.records import JobRecord
from headway.storage.transaction import READY, Transaction

MARKER = "custom:"
"""Artifacts of this kind are there exactly if the database says so."""

MOST_BLOCKERS = 50
"""How many of the things that blocked a job are kept with it."""


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
    """Jobs whose gates must be looked at again, and jobs that end because of these."""
    if tx.beside and any(_touches_others(one.record) for one in ended):
        tx.alone()
    tx.expect("needs_that_name_jobs", kinds=_NAMING_JOBS)
    tx.expect("webhooks")
    failed = [one for one in ended if one.status in states.RETRYABLE]
    decisions = {one.record.number: _decide(scheduler, tx, one) for one in failed}
    _record_ends(scheduler, tx, ended, decisions)
    retried = [
        (one.record, decision.moment)
        for one in failed
        if isinstance(decision := decisions[one.record.number], retries.RetryAt)
    ]
    retried.sort(key=lambda one: one[0].order)
    new_jobs = [retry_job(scheduler, tx, record, moment) for record, moment in retried]
    new_jobs += [one.successor for one in ended if one.successor is not None]
    waiting = set(insert(tx, new_jobs).to_admit) if new_jobs else set()
    going_on = {job.chain for job in new_jobs}
    final = [one for one in ended if one.record.chain not in going_on]
    waiting |= group_consequences.hand_on_predecessors(tx, final)
    waiting |= _meet_dependencies(tx, final)
    waiting |= _tell_consumers(tx, final)
    _free_locks(tx, ended)
    outbox.add(scheduler, tx, ended)
    stopped = group_consequences.decide(scheduler, tx, final)
    tx.wake(READY)
    return waiting, stopped


def _touches_others(record: JobRecord) -> bool:
    """Whether the end of a job concerns more than itself and the jobs that come after it."""
    return bool(record.gated or record.group_id or record.says("produces"))


def _decide(scheduler: Scheduler, tx: Transaction, one: Ended) -> retries.Decision:
    return retries.decide(
        one.record.terms.retry_policy,
        attempt=one.record.attempt,
        wanted=one.retry and one.record.cancel is None,
        now=tx.now,
        source=scheduler.chance,
    )


def _record_ends(
    scheduler: Scheduler,
    tx: Transaction,
    ended: Sequence[Ended],
    decisions: dict[int, retries.Decision],
) -> None:
    for one in ended:
        states.check(one.record.number, one.record.status, one.status)
    waits = lane_waits.met_now(scheduler, tx, [one.record for one in ended if one.record.is_ready])
    numbers = [one.record.number for one in ended]
    jobs.end(
        tx,
        [
            (n, _end(one, decisions.get(n), waits.get(n, one.record.waited_on)))
            for n, one in zip(numbers, ended, strict=True)
        ],
    )
    tx.note_all(events.FINISHED, {one.record.number: _facts_of(one) for one in ended})
    watching = [one.record.number for one in ended if one.record.gated]
    if watching:
        tx.do("remove_watches", numbers=records.listed(watching))


def _end(one: Ended, decision: retries.Decision | None, known: tuple[str, ...]) -> jobs.End:
    record, reason = one.record, one.reason
    waited_on = one.waited_on(known)
    return jobs.End(
        one.status,
        one.exit_code,
        retry_state(decision),
        one.progress,
        reason.kind if reason else None,
        reason.detail if reason else None,
        one.started_at,
        None if one.run_id == record.run_id else one.run_id,
        codec.dump(waited_on) if waited_on != record.waited_on else None,
        codec.dump(one.blockers[:MOST_BLOCKERS]) if one.blockers else None,
    )


def retry_state(decision: retries.Decision | None) -> RetryState:
    """The decision as it is kept with the job; without a failure there is none."""
    if decision is None:
        return RetryState.NONE
    if isinstance(decision, retries.RetryAt):
        return RetryState.SCHEDULED
    return RetryState.EXHAUSTED if isinstance(decision, retries.GiveUp) else RetryState.SUPPRESSED


def _facts_of(one: Ended) -> dict[str, Any]:
    facts: dict[str, Any] = {"status": one.status}
    if one.run_id is not None:
        facts["run_id"] = one.run_id
    if one.error is not None:
        facts["error"] = one.error[:500]
    if one.reason is not None:
        facts["reason"] = one.reason.detail
    return facts


def _meet_dependencies(tx: Transaction, final: Sequence[Ended]) -> set[int]:
    """Dependents whose last open dependency was met, or one of whose dependencies broke."""
    chains: dict[bool, list[int]] = {True: [], False: []}
    for one in final:
        chains[one.status in states.SUCCESS].append(one.record.chain)
    waiting: set[int] = set()
    for succeeded, ended in chains.items():
        if ended:
            waiting |= _meet(tx, ended, states.SUCCEEDED if succeeded else states.FAILED)
    return waiting


def _meet(tx: Transaction, chains: list[int], status: JobStatus) -> set[int]:
    listed = records.listed(chains)
    if not tx.rows("any_dependents", chains=listed):
        return set()
    policies = records.listed(policy for policy in Policy if after.satisfies(status, policy))
    if tx.beside:
        holds.jobs(tx, [row["job_number"] for row in tx.rows("dependents", chains=listed)])
    lowered = tx.rows("lower_open_deps", chains=listed, policies=policies)
    tx.put("meet_dependencies", chains=listed, policies=policies)
    broken = {row["job_number"] for row in tx.rows("dependents", chains=listed)}
    return broken | {row["number"] for row in lowered if row["open_deps"] == 0}


def _tell_consumers(tx: Transaction, final: Sequence[Ended]) -> set[int]:
    """Set or remove the markers of what was made, and wake those who need it."""
    makers = [one for one in final if one.record.says("produces")]
    tx.many("put_marker", _markers(tx, makers))
    ran = [one for one in makers if one.status in states.FAILURE and one.run_id is not None]
    gone = [name for one in ran for name in one.record.terms.produces if name.startswith(MARKER)]
    if gone:
        makers_gone = records.listed(one.record.number for one in ran)
        tx.do("unmake_markers", artifacts=records.listed(gone), makers=makers_gone)
    made = [name for one in makers for name in one.record.terms.produces]
    names = [*made, *_names(tx, final)]
    rows = tx.rows("waiting_consumers", artifacts=records.listed(names)) if names else ()
    # A job that found a marker there and has not started finds it gone.
    found_it = tx.rows("consumers", artifacts=records.listed(gone)) if gone else ()
    return {row["job_number"] for row in (*rows, *found_it)}


def _markers(tx: Transaction, makers: Sequence[Ended]) -> Iterable[dict[str, Any]]:
    return [
        {"artifact": name, "job_number": one.record.number, "created_at": tx.now_ms}
        for one in makers
        if one.status is states.SUCCEEDED
        for name in one.record.terms.produces
        if name.startswith(MARKER)
    ]


def _names(tx: Transaction, final: Sequence[Ended]) -> list[str]:
    """The artifacts that the success of these jobs is, if a job needs such, under any name."""
    kinds = {row["kind"] for row in tx.rows("needs_that_name_jobs", kinds=_NAMING_JOBS)}
    if not kinds:
        return []
    own = {one.record.job_id: one.record.number for one in final}
    chains = {one.record.chain for one in final if _has_other_links(one.record)}
    links = tx.rows("chain_links", chains=records.with_history(chains)) if chains else ()
    ids = own | {row["job_id"]: row["number"] for row in links}
    return [name for one in ids.items() for name in artifacts.names_of_job(*one, kinds)]


def _has_other_links(record: JobRecord) -> bool:
    return record.retry_of is not None or record.generation > 1


_NAMING_JOBS = records.listed(artifacts.NAMING_JOBS)


def _free_locks(tx: Transaction, ended: Sequence[Ended]) -> None:
    """Let go of locks, and of places in their lines."""
    gated = [one.record for one in ended if one.record.gated]
    numbers = [record.number for record in gated if record.terms.locks]
    if numbers:
        tx.rows("free_locks", numbers=records.listed(numbers))
        lock_queues.leave(tx, numbers)
