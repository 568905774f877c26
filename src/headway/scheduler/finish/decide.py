"""What follows from jobs that ended: pure, from the ends to a value that is recorded as it is."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from headway.domain import artifacts, retries, states
from headway.domain.jobs import RetryState
from headway.domain.values.chance import Chance
from headway.scheduler.finish.ends import Ended
from headway.storage.jobs import End
from headway.storage.records import JobRecord

MARKER = "custom:"
"""Artifacts of this kind are there exactly if the database says so."""

MOST_BLOCKERS = 50
"""How many of the things that blocked a job are kept with it."""


class Retry(NamedTuple):
    """A failed job that is tried again, and when."""

    record: JobRecord
    moment: datetime
    crashes: int = 0


class Markers(msgspec.Struct, frozen=True, kw_only=True):
    """Artifacts that jobs made or failed to make."""

    made: tuple[str, ...] = ()
    """All that they should have made."""
    marked: tuple[tuple[str, int], ...] = ()
    """Markers that are there from now on, and the jobs that made them."""
    gone: tuple[str, ...] = ()
    """Markers that are there no longer, if they were made by `failed`."""
    failed: tuple[int, ...] = ()


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the store says about jobs that ended."""

    waited_on: Mapping[int, Sequence[str]] = msgspec.field(default_factory=dict)
    """The kinds of gates that ready jobs met, by number."""
    awaited: frozenset[int] = frozenset()
    """Those of their chains for whose end a job waits."""
    kinds: frozenset[str] = frozenset()
    """The kinds of artifacts which name jobs and of which a job needs one."""
    links: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The numbers of other links of their chains by id, if jobs need the success of jobs."""


class Wave(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that follows from some ends by itself."""

    ends: tuple[tuple[int, End], ...]
    history: Mapping[int, Mapping[str, Any]]
    retries: tuple[Retry, ...]
    """In the order of the queue."""
    final: tuple[Ended, ...]
    """The ends with which a chain ends."""
    succeeded: tuple[int, ...]
    """Awaited chains that ended well: they meet or break dependencies, as these want."""
    failed: tuple[int, ...]
    unwatched: tuple[int, ...]
    """Jobs for which no file or branch is watched any more."""
    unlocked: tuple[int, ...]
    """Jobs that release their locks and leave the queues for them."""
    markers: Markers
    looked_for: tuple[str, ...]
    """Artifacts whose presence may have changed: jobs that wait for these look again."""


def decide(ended: Sequence[Ended], facts: Facts, *, now: datetime, chance: Chance) -> Wave:
    """What follows from these ends."""
    for one in ended:
        states.check(one.record.number, one.record.status, one.status)
    decisions = {
        one.record.number: _decide_retry(one, now, chance)
        for one in ended
        if one.status in states.RETRYABLE
    }
    retried = [
        Retry(one.record, decision.moment, one.crashes)
        for one in ended
        if isinstance(decision := decisions.get(one.record.number), retries.RetryAt)
    ]
    going_on = {one.record.chain for one in retried}
    going_on |= {one.successor.chain for one in ended if one.successor is not None}
    final = tuple(one for one in ended if one.record.chain not in going_on)
    awaited = [one for one in final if one.record.chain in facts.awaited]
    gated = [one.record for one in ended if one.record.gated]
    markers = _markers([one for one in final if one.record.says("produces")])
    return Wave(
        ends=tuple(
            (n := one.record.number, _end(one, decisions.get(n), facts.waited_on)) for one in ended
        ),
        history={one.record.number: _facts_of(one) for one in ended},
        retries=tuple(sorted(retried, key=lambda one: one.record.order)),
        final=final,
        succeeded=tuple(one.record.chain for one in awaited if one.status in states.SUCCESS),
        failed=tuple(one.record.chain for one in awaited if one.status not in states.SUCCESS),
        unwatched=tuple(record.number for record in gated),
        unlocked=tuple(record.number for record in gated if record.terms.locks),
        markers=markers,
        looked_for=(*markers.made, *names_of_jobs(final, facts)),
    )


def _decide_retry(one: Ended, now: datetime, chance: Chance) -> retries.Decision:
    return retries.decide(
        one.record.terms.retry_policy,
        attempt=one.record.attempt,
        wanted=one.retry and one.record.cancel is None,
        now=now,
        source=chance,
        crashes=one.crashes if one.crashed else 0,
        after_s=one.retry_after_s,
    )


def _end(
    one: Ended, decision: retries.Decision | None, waited_on: Mapping[int, Sequence[str]]
) -> End:
    record, reason = one.record, one.reason
    kinds = one.waited_on(tuple(waited_on.get(record.number, record.waited_on)))
    return End(
        one.status,
        one.exit_code,
        retry_state(decision),
        one.progress,
        reason.kind if reason else None,
        reason.detail if reason else None,
        one.started_at,
        None if one.run_id == record.run_id else one.run_id,
        kinds if kinds != record.waited_on else None,
        one.blockers[:MOST_BLOCKERS],
        one.crashes,
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


def _markers(makers: Sequence[Ended]) -> Markers:
    """A success sets its markers; a run that failed removes those that it made before."""
    if not makers:
        return NO_MARKERS
    ran = [one for one in makers if one.status in states.FAILURE and one.run_id is not None]
    return Markers(
        made=tuple(name for one in makers for name in one.record.terms.produces),
        marked=tuple(
            (name, one.record.number)
            for one in makers
            if one.status is states.SUCCEEDED
            for name in one.record.terms.produces
            if name.startswith(MARKER)
        ),
        gone=tuple(
            name for one in ran for name in one.record.terms.produces if name.startswith(MARKER)
        ),
        failed=tuple(one.record.number for one in ran),
    )


NO_MARKERS = Markers()


def chains_with_other_links(ended: Sequence[Ended]) -> set[int]:
    """Chains some of whose links go by other names than the one that ended."""
    records = (one.record for one in ended)
    return {one.chain for one in records if one.retry_of is not None or one.generation > 1}


def names_of_jobs(final: Sequence[Ended], facts: Facts) -> tuple[str, ...]:
    """The artifacts that the success of these jobs is, by any name of a link of their chains."""
    if not facts.kinds:
        return ()
    ids = {**{one.record.job_id: one.record.number for one in final}, **facts.links}
    return tuple(
        name
        for job_id, number in ids.items()
        for name in artifacts.names_of_job(job_id, number, facts.kinds)
    )
