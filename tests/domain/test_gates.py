"""The nine gates: what closes each, in the words that people read."""

from datetime import UTC, datetime, timedelta

import pytest

from headway.domain import states
from headway.domain.gates import (
    FullLimit,
    Gate,
    after,
    approval,
    artifacts,
    limits,
    locks,
    pause,
    pinned_head,
    time,
    worker,
)
from headway.domain.gates.after import Predecessor
from headway.domain.gates.artifacts import Need, Producer
from headway.domain.gates.locks import Holder
from headway.domain.gates.pause import Pause
from headway.domain.jobs import Approval, Lane, Lock, Mode, PinnedHead, Policy
from headway.domain.manage.limits import Rate, Room
from headway.domain.manage.reservations import Reservation, ReservationState
from headway.domain.states import JobStatus
from headway.domain.workers import Worker

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LANE = Lane(queue="q", job_type="t", requires=("gpu",))


def test_there_are_nine_gates_in_this_order() -> None:
    assert " ".join(Gate) == ("time after artifacts pinned_head approval locks limits pause worker")


def test_time_is_closed_until_its_moment() -> None:
    closed = time.check(NOW + timedelta(seconds=1), NOW)
    assert closed is not None
    assert (closed.status, closed.kind) == (states.QUEUED, "scheduled")
    assert closed.detail == "scheduled for 2026-03-02T12:00:01Z"
    assert time.check(NOW, NOW) is None
    assert time.check(None, NOW) is None


def predecessor(status: JobStatus | None, policy: str = "success", **more: str) -> Predecessor:
    return Predecessor(job="j", policy=Policy(policy), status=status, **more)


@pytest.mark.parametrize(
    ("one", "status", "detail"),
    [
        (predecessor(states.RUNNING), states.WAITING_ON_DEPS, "waiting on job j"),
        (predecessor(None), states.BLOCKED_BY_DEPENDENCY, "missing job dependency j"),
        (
            predecessor(states.TIMEOUT),
            states.BLOCKED_BY_DEPENDENCY,
            "dependency failed for job j (timeout)",
        ),
        (
            predecessor(states.SUCCEEDED, "failure"),
            states.BLOCKED_BY_DEPENDENCY,
            "dependency failed for job j (succeeded)",
        ),
        (
            predecessor(None, error="bad row"),
            states.BLOCKED_BY_DEPENDENCY,
            "scheduler data error for job dependency j: bad row",
        ),
    ],
)
def test_after_says_what_is_missing(one: Predecessor, status: JobStatus, detail: str) -> None:
    closed = after.check([predecessor(states.SUCCEEDED), one])
    assert closed is not None
    assert (closed.status, closed.kind, closed.detail) == (status, "dependencies", detail)
    assert closed.forever is (status in states.TERMINAL)


@pytest.mark.parametrize("status", sorted(states.TERMINAL))
def test_each_end_meets_success_or_failure_and_always_finished(status: JobStatus) -> None:
    met = {policy for policy in Policy if after.satisfies(status, policy)}
    other = Policy.SUCCESS if status in states.SUCCESS else Policy.FAILURE
    assert met == {Policy.FINISHED, other}


def need(*producers: JobStatus, present: bool = False) -> Need:
    makers = tuple(Producer(job=f"p{place}", status=one) for place, one in enumerate(producers))
    return Need(artifact="a", present=present, producers=makers)


@pytest.mark.parametrize(
    ("one", "wait", "detail"),
    [
        (need(states.QUEUED, states.FAILED), False, "waiting on a"),
        (need(), False, "missing a"),
        (need(), True, "awaiting producer for a"),
        (need(states.SUCCEEDED, states.FAILED), False, "missing a"),
        (need(states.FAILED, states.CANCELLED), False, "dependency failed for a"),
        (need(states.FAILED), True, "dependency failed for a"),
    ],
)
def test_artifacts_say_what_is_missing(one: Need, wait: bool, detail: str) -> None:
    closed = artifacts.check([need(present=True), one], wait_for_producer=wait)
    assert closed is not None
    assert closed.detail == detail


def test_the_first_missing_artifact_in_the_order_of_needs_is_named() -> None:
    wanted = [Need(artifact=name, present=name == "a") for name in ("a", "c", "b")]
    closed = artifacts.check(wanted, wait_for_producer=False)
    assert closed is not None
    assert closed.detail == "missing c"


def test_an_artifact_that_is_there_is_enough() -> None:
    assert artifacts.check([need(states.FAILED, present=True)], wait_for_producer=False) is None


def test_a_pinned_head_is_closed_while_the_branch_is_elsewhere() -> None:
    pin = PinnedHead(branch="main", commit="a" * 40)
    closed = pinned_head.check(pin, "b" * 40, matches=False)
    assert closed is not None
    assert (closed.kind, closed.detail) == ("pinned_head", "pinned head mismatch on main")
    assert pinned_head.check(pin, "a" * 40, matches=True) is None


def test_approval_is_closed_until_the_job_is_approved() -> None:
    closed = approval.check(Approval.PENDING)
    assert closed is not None
    assert closed.detail == "awaiting human approval"
    assert approval.check(Approval.APPROVED) is None
    assert approval.check(None) is None


@pytest.mark.parametrize(
    ("wanted", "held", "is_open"),
    [
        (Mode.SHARED, Mode.SHARED, True),
        (Mode.SHARED, Mode.EXCLUSIVE, False),
        (Mode.EXCLUSIVE, Mode.SHARED, False),
        (Mode.EXCLUSIVE, Mode.EXCLUSIVE, False),
    ],
)
def test_locks_conflict_unless_both_are_shared(wanted: Mode, held: Mode, is_open: bool) -> None:
    closed = locks.check([Lock(key="k", mode=wanted)], [Holder(key="k", mode=held, job="j")])
    assert (closed is None) is is_open


def test_only_shared_requests_yield_to_a_waiting_exclusive() -> None:
    ahead = [Holder(key="k", mode=Mode.EXCLUSIVE, job="j")]
    assert locks.check([Lock(key="k", mode=Mode.SHARED)], [], ahead) is not None
    assert locks.check([Lock(key="k")], [], ahead) is None


def test_full_limits_say_whether_their_rate_is_used_up() -> None:
    rooms = {
        "a": Room(name="a", size=1, used=1, rate=Rate(1, 60), started=1),
        "b": Room(name="b", size=9, rate=Rate(1, 60), started=1),
    }
    closed = limits.check({"a": 1, "b": 1}, rooms)
    assert closed is not None
    assert closed.full_limits == (
        FullLimit(name="a", by_rate=False),
        FullLimit(name="b", by_rate=True),
    )


def test_limits_name_every_full_one() -> None:
    rooms = {"a": Room(name="a", size=1, used=1), "b": Room(name="b", size=5, used=5)}
    closed = limits.check({"a": 1, "b": 1, "unknown": 9}, rooms)
    assert closed is not None
    assert closed.detail == "a: used 1 + 1 > 1; b: used 5 + 1 > 5"
    assert not closed.forever


def test_what_is_larger_than_the_limit_never_fits() -> None:
    closed = limits.check({"a": 2}, {"a": Room(name="a", size=1)})
    assert closed is not None
    assert closed.forever


@pytest.mark.parametrize(
    ("one", "detail"),
    [
        (Pause(), "everything is paused"),
        (Pause(queue="q"), "queue q is paused"),
        (Pause(job_type="t"), "job type t is paused"),
        (Pause(queue="other"), None),
    ],
)
def test_a_pause_holds_what_it_covers(one: Pause, detail: str | None) -> None:
    closed = pause.check(LANE, [one], None)
    assert (closed.detail if closed else None) == detail


def test_a_reservation_holds_everything() -> None:
    reservation = Reservation(
        reservation_id="r1",
        reserved_by="ann",
        state=ReservationState.ACTIVE,
        running=False,
        created_at=NOW,
        expires_at=NOW,
    )
    closed = pause.check(LANE, [], reservation)
    assert closed is not None
    assert (closed.kind, closed.detail) == ("reservation", "the next slot is reserved by ann")


def some_worker(*capabilities: str, alive: bool = True) -> Worker:
    return Worker(
        worker_id="w",
        host="h",
        pid=1,
        process_started="s",
        built_in=False,
        queues=None,
        job_types=None,
        capabilities=capabilities,
        slots=1,
        first_seen=NOW,
        last_seen=NOW,
        alive=alive,
    )


def test_a_living_worker_that_fits_opens_the_last_gate() -> None:
    assert worker.check(LANE, [some_worker(), some_worker("gpu")]) is None


@pytest.mark.parametrize(
    ("workers", "forever"),
    [([], True), ([some_worker()], True), ([some_worker("gpu", alive=False)], False)],
)
def test_without_one_it_is_closed(workers: list[Worker], forever: bool) -> None:
    closed = worker.check(LANE, workers)
    assert closed is not None
    assert closed.detail == "no worker for queue q with t, gpu"
    assert closed.forever is forever
