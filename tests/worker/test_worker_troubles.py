"""A worker whose scheduler is away, refuses, or answers with nothing."""

import random
import threading
import time
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

import pytest
from tests.worker.executor_helpers import PATIENCE_S, eventually, make_work

from headway.clock import SystemClock
from headway.domain import errors
from headway.domain.handlers import Handler
from headway.domain.leases import Lease, LeaseState
from headway.domain.runs import Outcome, RunStatus
from headway.domain.workers import Abilities
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import BeatAnswer, Report, ReportAnswer, Started
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase
from headway.worker import local as local_way
from headway.worker.context import JobContext, Work
from headway.worker.executors.calls import timed_out
from headway.worker.executors.interface import Done, Executor
from headway.worker.executors.threads import ThreadExecutor
from headway.worker.lease_keeper import LeaseKeeper
from headway.worker.local import LocalTransport
from headway.worker.loop import Worker
from headway.worker.reporter import Reporter
from headway.worker.transport import Registration, Taken
from headway.workspace import Workspace

DONE = Outcome(status=RunStatus.COMPLETED)


class Server(LocalTransport):
    """A scheduler in words only; tests say what it answers."""

    takes_reports = True
    claims_wait = True

    def __init__(self, jobs: int = 0) -> None:
        self.jobs = [_started(number) for number in range(1, jobs + 1)]
        self.forgets_reports = False
        self.problem: Exception | None = None
        self.released: list[str] = []
        self.outcomes: list[Outcome] = []
        self.late_s = 0.0
        self.heartbeats = 0
        self.tries = 0

    def register(self) -> None: ...

    def claim(
        self,
        count: int,
        *,
        lease: bool,
        reports: Sequence[Report],
        holds: Collection[str] | None = None,
    ) -> Taken:
        if self.forgets_reports or not reports:
            taken, self.jobs = self.jobs[:count], self.jobs[count:]
            return Taken(jobs=taken, since=time.monotonic() - self.late_s)
        raise errors.Conflict("claims take no reports here")

    def wait(self) -> None:
        time.sleep(0.01)

    def poke(self) -> None: ...

    def wake(self) -> None: ...

    def heartbeat(self, beats: Sequence[HeartbeatItem]) -> list[BeatAnswer]:
        self.heartbeats += 1
        if self.problem is not None:
            raise self.problem
        return [BeatAnswer(lease_id=one.lease_id) for one in beats]

    def release(self, reports: Sequence[Report]) -> list[ReportAnswer]:
        self.tries += 1
        if self.problem is not None:
            raise self.problem
        self.released += [one.lease_id for one in reports]
        self.outcomes += [one.outcome for one in reports]
        return [ReportAnswer(lease_id=one.lease_id, error=None) for one in reports]

    def on_cancel(self, tell: object) -> None: ...

    def close(self) -> None: ...


def _started(number: int) -> Started:
    now = SystemClock().now()
    lease = Lease(
        lease_id=f"lease-{number}",
        job_id=f"job-{number}",
        worker_id="w",
        cost_units=1,
        ttl_s=30.0,
        granted_at=now,
        expires_at=now,
        state=LeaseState.ACTIVE,
    )
    return Started(
        number=number,
        job_id=f"job-{number}",
        job_type="work",
        attempt=0,
        params="{}",
        timeout_s=None,
        lease=lease,
    )


def work() -> None:
    """Nothing to do."""


class Strict(Server):
    """It refuses results, each for itself."""

    def release(self, reports: Sequence[Report]) -> list[ReportAnswer]:
        answers = super().release(reports)
        too_large = errors.TooLarge("result", 2, 1)
        return [
            ReportAnswer(lease_id=one.lease_id, error=too_large) if one.outcome.result else answer
            for one, answer in zip(reports, answers, strict=True)
        ]


def test_a_run_whose_outcome_was_refused_among_others_fails_of_it() -> None:
    server = Strict()
    reported: list[str] = []
    reporter = Reporter(server, lambda _: None, reported.append, random.Random(1))
    reporter.add("good", DONE)
    reporter.add("bad", Outcome(status=RunStatus.COMPLETED, result=22))
    reporter.poke()
    eventually(lambda: sorted(reported) == ["bad", "good"])
    reporter.close(PATIENCE_S)
    last = server.outcomes[-1]
    assert (last.status, last.error) == (
        RunStatus.FAILED,
        "its outcome was refused: result has 2 bytes; the limit is 1",
    )


def test_outcomes_of_which_an_answer_says_nothing_are_reported_again(tmp_path: Path) -> None:
    server = Server(jobs=3)
    server.forgets_reports = True
    executor = ThreadExecutor({"work": Handler.of(work)}, 1)
    worker = Worker(server, executor, slots=1, data=tmp_path)
    worker.start()
    eventually(lambda: len(server.released) == 3)
    assert worker.stop(PATIENCE_S)
    executor.close()


def test_while_outcomes_cannot_be_reported_no_more_are_claimed_than_there_are_slots(
    tmp_path: Path,
) -> None:
    server = Server(jobs=20)
    server.takes_reports = False
    server.problem = errors.Unavailable("the database is away")
    executor = ThreadExecutor({"work": Handler.of(work)}, 2)
    worker = Worker(server, executor, slots=2, data=tmp_path)
    worker.start()
    eventually(lambda: worker._reporter.unreported >= 2 and not worker.slots.used)
    tries = server.tries
    eventually(lambda: server.tries > tries + 1)
    assert 20 - len(server.jobs) <= 2 + 1
    server.problem = None
    eventually(lambda: len(server.released) == 20)
    assert worker.stop(PATIENCE_S)
    executor.close()


def test_an_outcome_can_be_taken_along_once_its_slot_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(jobs=1)
    executor = ThreadExecutor({"work": Handler.of(work)}, 1)
    worker = Worker(server, executor, slots=1, data=tmp_path)
    give_back = worker.slots.give_back
    there: list[str] = []

    def look_first(count: int = 1) -> None:
        there.extend(one.lease_id for one in worker._reporter._ended)
        give_back(count)

    monkeypatch.setattr(worker.slots, "give_back", look_first)
    worker.start()
    eventually(lambda: server.released == ["lease-1"])
    assert there == ["lease-1"]
    assert worker.stop(PATIENCE_S)
    executor.close()


def test_a_heartbeat_that_is_refused_is_not_sent_again_at_once(tmp_path: Path) -> None:
    server = Server()
    server.problem = errors.Forbidden("the token was revoked")
    keeper = LeaseKeeper(server)
    ctx = JobContext(make_work(tmp_path, "work"))
    ctx.progress(0.5)
    held = keeper.hold("lease-1", 30.0, time.monotonic() - 11, ctx)
    eventually(lambda: server.heartbeats > 0 and held.renew_at > time.monotonic())
    keeper.close()
    assert ctx.take_progress() is not None


def test_a_run_that_cannot_be_stopped_does_not_end_the_fence(tmp_path: Path) -> None:
    class Stubborn:
        def stop(self) -> None:
            raise OSError("not today")

        def renew(self, deadline: float) -> None: ...

    server = Server()
    server.problem = errors.Unavailable("away")
    keeper = LeaseKeeper(server)
    for lease_id in ("lease-1", "lease-2"):
        held = keeper.hold(lease_id, 1.0, time.monotonic(), JobContext(make_work(tmp_path, "work")))
        held.running = Stubborn()
        eventually(partial(getattr, held, "fenced"))
    keeper.close()


def test_a_reporter_that_stops_does_not_hammer_a_scheduler_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server()
    server.problem = errors.Unavailable("away")
    slept = threading.Event()
    paused: list[float] = []

    def sleep(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 3:
            server.problem = None
            slept.set()

    monkeypatch.setattr("headway.worker.reporter.time.sleep", sleep)
    told = Reporter(server, lambda run_ids: None, lambda run_id: None, random.Random(1))
    told.add("lease-1", DONE)
    told.close(PATIENCE_S)
    assert slept.is_set()
    assert server.released == ["lease-1"]
    assert server.tries == 4


def test_an_outcome_is_reported_after_an_unexpected_error() -> None:
    server = Server()
    server.problem = RuntimeError("who would have thought")
    told = Reporter(server, lambda run_ids: None, lambda run_id: None, random.Random(1))
    told.add("lease-1", DONE)
    told.poke()
    eventually(lambda: server.tries == 2)
    server.problem = None
    eventually(lambda: server.outcomes == [DONE])
    told.close(PATIENCE_S)


def test_a_job_whose_lease_came_too_late_is_not_begun(tmp_path: Path) -> None:
    begun: list[str] = []

    def work() -> None:
        begun.append("work")

    server = Server(jobs=1)
    server.late_s = 31.0
    executor = ThreadExecutor({"work": Handler.of(work)}, 1)
    worker = Worker(server, executor, slots=1, data=tmp_path)
    worker.start()
    eventually(lambda: not server.jobs and not worker.slots.used)
    assert worker.stop(PATIENCE_S)
    executor.close()
    assert begun == server.released == []


def test_a_run_that_is_to_be_ended_before_it_has_begun_is_ended(tmp_path: Path) -> None:
    stopped = threading.Event()

    class Running:
        def stop(self) -> None:
            stopped.set()

        def renew(self, deadline: float) -> None: ...

    class Slow(Executor):
        def start(self, work: Work, ctx: JobContext, done: Done) -> Running:
            (held,) = worker._keeper.held()
            held.cancel = "forced"
            return Running()

        def close(self) -> None: ...

    worker = Worker(Server(jobs=1), Slow(), slots=1, data=tmp_path)
    worker.start()
    assert stopped.wait(PATIENCE_S)
    worker.stop(0.0)


@pytest.mark.parametrize(
    ("outcome", "warns"), [(DONE, True), (timed_out(1.0), False)], ids=["done", "timed out"]
)
def test_a_lease_that_expired_is_no_news_to_a_worker_whose_run_timed_out(
    outcome: Outcome, warns: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    gone = ReportAnswer(lease_id="lease-1", error=errors.LeaseEnded("lease-1", "EXPIRED"))
    monkeypatch.setattr(server, "release", lambda reports: [gone])
    dropped: list[str] = []
    told = Reporter(server, lambda run_ids: None, dropped.append, random.Random(1))
    told.add("lease-1", outcome)
    told.close(PATIENCE_S)
    assert dropped == ["lease-1"]
    assert ("was refused" in caplog.text) is warns


def test_a_poke_just_before_a_claim_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_way, "SAFETY_POLL_S", 10 * PATIENCE_S)
    database = SqliteDatabase(tmp_path / "headway.db", SystemClock(), durable=False)
    database.migrate()
    store = Store(database)
    scheduler = Scheduler(
        store=store, clock=SystemClock(), workspace=Workspace(tmp_path), data=tmp_path
    )
    me = Registration(
        worker_id="w", host="here", pid=1, process_started="1", abilities=Abilities(), slots=1
    )
    local = LocalTransport(scheduler, me)
    local.poke()
    assert local.claim(1, lease=True, reports=[]).jobs == []
    sleeper = threading.Thread(target=local.wait, daemon=True)
    sleeper.start()
    sleeper.join(PATIENCE_S)
    assert not sleeper.is_alive()
    local.close()
    store.close()
