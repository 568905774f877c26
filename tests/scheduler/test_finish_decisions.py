"""What follows from ends, decided without a store."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from headway.domain import errors, states
from headway.domain.jobs import After, Lock, Mode, Policy, RetryPolicy, RetryState, Terms
from headway.domain.manage.groups import Verdict
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.finish.decide import Facts, Wave, decide
from headway.scheduler.finish.ends import Ended
from headway.scheduler.finish.group_consequences import others_that_end
from headway.scheduler.finish.outbox import messages
from headway.storage.engine import codec
from headway.storage.manage.webhooks import Endpoint
from headway.storage.records import Head, JobRecord

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NONE = dict.fromkeys((*Head.__struct_fields__, *JobRecord.__struct_fields__))


def record(number: int, terms: Terms | None = None, **fields: Any) -> JobRecord:
    """A job of which nothing is said but this."""
    plain = {
        "number": number,
        "job_id": f"id-{number}",
        "chain": number,
        "status": states.RUNNING,
        "terms_json": codec.dump_terms(terms or Terms()),
        "waited_on_json": "[]",
        "priority": 50,
        "position": number,
        "attempt": 0,
        "generation": 1,
        "gated": 0,
        "crashes": 0,
    }
    return JobRecord(**{**NONE, **plain, **fields})


def ended(
    number: int,
    status: JobStatus,
    terms: Terms | None = None,
    *,
    was: JobStatus = states.RUNNING,
    retry: bool = True,
    **fields: Any,
) -> Ended:
    one = record(number, terms, **{"run_id": f"run-{number}", "status": was, **fields})
    return Ended(record=one, status=status, run_id=one.run_id, retry=retry)


def crashed(number: int, **fields: Any) -> Ended:
    return msgspec.structs.replace(ended(number, states.FAILED, **fields), crashed=True)


def decided(*ends: Ended, **facts: Any) -> Wave:
    """What follows where a job waits for the end of each chain, unless the store says otherwise."""
    awaited = frozenset(one.record.chain for one in ends)
    known = Facts(**{"awaited": awaited, **facts})
    return decide(ends, known, now=NOW, chance=random.Random(0))


@pytest.mark.parametrize(
    ("one", "delay_s", "kept"),
    [
        (ended(1, states.FAILED), 10, RetryState.SCHEDULED),
        (ended(1, states.FAILED, attempt=2), 40, RetryState.SCHEDULED),
        (ended(1, states.TIMEOUT), 10, RetryState.SCHEDULED),
        (ended(1, states.FAILED, attempt=3), None, RetryState.EXHAUSTED),
        (crashed(1, crashes=1), 10, RetryState.SCHEDULED),
        (crashed(1, crashes=2), None, RetryState.EXHAUSTED),
        (ended(1, states.FAILED, crashes=3), 10, RetryState.SCHEDULED),
        (ended(1, states.FAILED, retry=False), None, RetryState.SUPPRESSED),
        (ended(1, states.FAILED, cancel="force"), None, RetryState.SUPPRESSED),
        (ended(1, states.SUCCEEDED), None, RetryState.NONE),
        (ended(1, states.CANCELLED), None, RetryState.NONE),
    ],
)
def test_a_failure_is_retried_while_its_policy_allows(
    one: Ended, delay_s: int | None, kept: RetryState
) -> None:
    wave = decided(one)
    wanted = [] if delay_s is None else [(one.record, NOW + timedelta(seconds=delay_s))]
    assert [(again.record, again.moment) for again in wave.retries] == wanted
    assert [end.retry_state for _, end in wave.ends] == [kept]
    assert wave.final == (() if wanted else (one,))


@pytest.mark.parametrize(
    ("status", "succeeded", "failed"),
    [
        (states.SUCCEEDED, (7,), ()),
        (states.SKIPPED, (7,), ()),
        (states.CANCELLED, (), (7,)),
        (states.FAILED, (), (7,)),
    ],
)
def test_the_end_of_a_chain_meets_or_breaks_dependencies(
    status: JobStatus, succeeded: tuple[int, ...], failed: tuple[int, ...]
) -> None:
    wave = decided(ended(9, status, retry=False, chain=7))
    assert (wave.succeeded, wave.failed) == (succeeded, failed)


def test_the_end_of_a_chain_for_which_no_job_waits_meets_nothing() -> None:
    wave = decided(ended(1, states.SUCCEEDED), ended(2, states.CANCELLED), awaited=frozenset({2}))
    assert (wave.succeeded, wave.failed) == ((), (2,))


def test_a_chain_that_goes_on_decides_nothing_for_others() -> None:
    wave = decided(ended(1, states.FAILED), ended(2, states.SUCCEEDED))
    assert (wave.succeeded, wave.failed) == ((2,), ())


def test_retries_come_in_the_order_of_the_queue() -> None:
    low, high = ended(1, states.FAILED, priority=10), ended(2, states.FAILED, priority=90)
    assert [one.record.number for one in decided(low, high).retries] == [2, 1]


MAKES = Terms(produces=("custom:a", "file:b"), retry_policy=RetryPolicy(max_attempts=0))


@pytest.mark.parametrize(
    ("one", "marked", "gone"),
    [
        (ended(1, states.SUCCEEDED, MAKES), (("custom:a", 1),), ()),
        (ended(1, states.FAILED, MAKES), (), ("custom:a",)),
        (ended(1, states.SKIPPED, MAKES), (), ()),
        (ended(1, states.BLOCKED_BY_DEPENDENCY, MAKES, run_id=None, was=states.QUEUED), (), ()),
    ],
)
def test_a_success_sets_its_markers_and_a_failed_run_removes_them(
    one: Ended, marked: tuple[tuple[str, int], ...], gone: tuple[str, ...]
) -> None:
    markers = decided(one).markers
    assert (markers.marked, markers.gone) == (marked, gone)
    assert markers.made == ("custom:a", "file:b")


def test_gated_jobs_are_watched_no_more_and_release_their_locks() -> None:
    locks = Terms(locks=(Lock(key="x", mode=Mode.EXCLUSIVE),))
    wave = decided(
        ended(1, states.SUCCEEDED),
        ended(2, states.SUCCEEDED, gated=1),
        ended(3, states.SUCCEEDED, locks, gated=1),
    )
    assert (wave.unwatched, wave.unlocked) == ((2, 3), (3,))


def test_a_move_that_the_table_of_states_forbids_is_refused() -> None:
    with pytest.raises(errors.IllegalMove):
        decided(ended(1, states.SUCCEEDED, was=states.FAILED))


def test_success_is_an_artifact_by_every_name_of_the_chain() -> None:
    terms = Terms(after=(After(job="x", number=5, policy=Policy.SUCCESS),))
    one = ended(2, states.SUCCEEDED, terms, retry_of=1, chain=1)
    wave = decided(one, kinds=frozenset({"job"}), links={"id-1": 1})
    assert set(wave.looked_for) >= {"job:id-1", "job:id-2"}
    assert decided(one, links={"id-1": 1}).looked_for == ()


@pytest.mark.parametrize(
    ("verdict", "status", "run_ids"),
    [(Verdict.STOP, states.CANCELLED, [None]), (Verdict.SKIP_REMAINING, states.SKIPPED, ["new"])],
)
def test_members_that_have_not_started_end_with_a_failed_one(
    verdict: Verdict, status: JobStatus, run_ids: list[str | None]
) -> None:
    failed = ended(1, states.FAILED)
    members = [
        record(1, status=states.FAILED),
        record(2, status=states.RUNNING),
        record(3, status=states.QUEUED),
        record(4, status=states.SUCCEEDED),
    ]
    found = others_that_end(verdict, failed, members, 0, lambda: "new")
    assert [(one.record.number, one.status) for one in found] == [(3, status)]
    assert [one.run_id for one in found] == run_ids
    assert [one.blockers[0].id for one in found] == ["id-1"]


def test_messages_go_to_endpoints_that_want_the_event_and_to_the_url_of_the_job() -> None:
    one = ended(1, states.CANCELLED, Terms(webhook_url="http://own/"))
    one = msgspec.structs.replace(one, run_status=RunStatus.FAILED)
    endpoints = [
        Endpoint("cancels", "http://a/", ("job.cancelled",)),
        Endpoint("other", "http://b/", ("job.run.completed",)),
    ]
    sent = [(m.payload.event, m.endpoint.url) for m in messages([one], endpoints, NOW)]
    assert sent == [
        ("job.run.failed", "http://own/"),
        ("job.cancelled", "http://a/"),
        ("job.cancelled", "http://own/"),
    ]
