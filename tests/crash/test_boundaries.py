"""A server is killed with SIGKILL at a named boundary: right before or right after a commit.

What happens around each commit of a job's life is played once on each side of it. The next start
recovers, the caller repeats what was not answered, and everything comes to the same end.
"""

import contextlib
import signal
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.scheduler.endpoints import endpoint
from tests.servers import WAIT_S, Server, Stage, wait_for

from headway.clock import SystemClock
from headway.storage.sqlite.database import SqliteDatabase
from headway.storage.upkeep import invariants

DIE = """
import os, signal
from headway.storage.sqlite import connection
asked = set()
def watch(name):
    own = getattr(connection.SqliteConnection, name)
    def watched(self, *given):
        asked.add(given[1] if name == "values" else given[0])
        return own(self, *given)
    setattr(connection.SqliteConnection, name, watched)
for name in ("all", "values", "run", "many"):
    watch(name)
commit = connection.SqliteSession.commit
def dying(self, wakes):
    due = {query!r} in asked and os.path.exists("armed")
    asked.clear()
    if due and {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, wakes)
    if due:
        os.kill(os.getpid(), signal.SIGKILL)
connection.SqliteSession.commit = dying
"""
RETRIED = {"max_attempts": 3, "base_delay_s": 0}
SETTINGS = {"data": "data", "app": "shop:app", "port": 0, "grace_s": 20, "claim_ttl_s": 1}


class Scene:
    """A server that dies at a boundary, and the one that comes after it."""

    def __init__(self, stage: Stage, query: str, *, before: bool) -> None:
        self.stage = stage
        self.before = before
        self.server = Server(stage, {**SETTINGS}, DIE.format(query=query, before=before))

    def arm(self) -> None:
        """From here on the boundary is deadly."""
        (self.stage.folder / "armed").touch()

    def ask(self, path: str, **body: Any) -> httpx.Response | None:
        """Ask the server; None if it dies before it answers."""
        try:
            return self.server.http.post(path, json=body)
        except httpx.TransportError:
            return None

    def outlive(self, sql: str | None = None) -> None:
        """Wait for the death and start another server, on a store that may be changed before."""
        assert self.server.process.wait(WAIT_S) == -signal.SIGKILL
        if sql is not None:
            with contextlib.closing(sqlite3.connect(self.server.data / "headway.db")) as raw, raw:
                raw.execute(sql)
        self.server = self.stage.serve(**SETTINGS)

    def submit(self, name: str, job_type: str = "note", **more: Any) -> Any:
        """Submit with a key, so that a repetition is the same job."""
        fields = {
            "params": {"name": name},
            "idempotency_key": name,
            "retry_policy": RETRIED,
            **more,
        }
        answer = self.ask("/api/jobs", job_type=job_type, **fields)
        return None if answer is None else answer.json()

    def again(self, name: str, job_type: str = "note", **more: Any) -> Any:
        """The same submit once more: there is one job for it."""
        job = self.submit(name, job_type, **more)
        assert job is not None
        return job

    def end_of(self, job: Any) -> Any:
        """The last link of a job's chain, once that has succeeded."""

        def look() -> Any:
            found = self.server.get("/api/jobs", limit=200)["items"]
            last = max(
                (one for one in found if one["chain_id"] == job["chain_id"]),
                key=lambda one: one["attempt"],
            )
            return last if last["status"] == "SUCCEEDED" else None

        return wait_for(look, f"the success of job {job['number']}")

    def check(self, *notes: str) -> None:
        """What was executed, in any order; and the store is sound."""
        assert sorted(self.stage.notes()) == sorted(notes)
        assert self.server.stop() == 0
        database = SqliteDatabase(self.server.data / "headway.db", SystemClock())
        with database.reading() as tx:
            assert invariants.broken(tx) == []
        database.close()


def play_submit(scene: Scene) -> None:
    """A job is on disk before it is acknowledged, and once however often it is submitted."""
    scene.arm()
    assert scene.submit("a") is None
    scene.outlive()
    scene.end_of(scene.again("a"))
    assert len(scene.server.get("/api/jobs")["items"]) == 1
    scene.check("a")


def play_start(scene: Scene) -> None:
    """A job that was to start, and did not begin, is executed once."""
    scene.arm()
    scene.submit("a")
    scene.outlive()
    scene.end_of(scene.again("a"))
    scene.check("a")


def play_finish(scene: Scene) -> None:
    """An outcome that was not recorded is lost, and the job is tried again; otherwise it stays."""
    scene.arm()
    scene.submit("a")
    scene.outlive()
    scene.end_of(scene.again("a"))
    scene.check(*(["a", "a"] if scene.before else ["a"]))


def play_retry(scene: Scene) -> None:
    """A failure has one retry, whether it was recorded or recovered.

    The commit of a failure may start its retry too: that one is recovered before it has begun.
    """
    scene.arm()
    scene.submit("a", "flaky")
    scene.outlive()
    assert scene.end_of(scene.again("a", "flaky"))["attempt"] == 2
    notes = scene.stage.notes()
    assert "a 1" in notes or not scene.before
    scene.check(*(name for name in ("a 0", "a 1", "a 2") if name != "a 1" or name in notes))


def play_dependent(scene: Scene) -> None:
    """What comes after a job is let go once."""
    scene.server.post("/api/queue/pause")
    first = scene.again("a")
    second = scene.again("b", after=[first["job_id"]])
    scene.arm()
    scene.ask("/api/queue/resume")
    scene.outlive()
    scene.end_of(second)
    scene.check(*(["a", "a", "b"] if scene.before else ["a", "b"]))


def play_lock(scene: Scene) -> None:
    """A lock that was about to be released is released."""
    scene.server.post("/api/queue/pause")
    jobs = [scene.again(name, locks=["gpu"]) for name in ("a", "b")]
    scene.arm()
    scene.ask("/api/queue/resume")
    scene.outlive()
    for job in jobs:
        scene.end_of(job)
    assert scene.server.get("/api/locks")["items"] == []
    scene.check(*(["a", "a", "b"] if scene.before else ["a", "b"]))


def play_group(scene: Scene) -> None:
    """A group ends when its last member has."""
    member = {"job_type": "note", "params": {"name": "a"}, "retry_policy": RETRIED}
    scene.server.post("/api/queue/pause")
    group = scene.server.post("/api/job-groups", name="g", jobs=[member])
    scene.arm()
    scene.ask("/api/queue/resume")
    scene.outlive()
    path = f"/api/job-groups/{group['group_id']}"
    wait_for(lambda: scene.server.get(path)["status"] == "COMPLETED", "the end of the group")
    scene.check(*(["a", "a"] if scene.before else ["a"]))


def play_fire(scene: Scene) -> None:
    """A schedule fires once for its time."""
    scene.server.post("/api/job-templates", name="t", job_type="note", params={"name": "fired"})
    at = (datetime.now(UTC) + timedelta(seconds=0.5)).isoformat()
    scene.arm()
    scene.server.post("/api/schedules", template="t", at=at)
    scene.outlive()
    scene.stage.wait_for_note("fired")
    (job,) = scene.server.get("/api/jobs")["items"]
    scene.end_of(job)
    scene.check("fired")


def play_cancel(scene: Scene) -> None:
    """A cancel holds, or can be asked for again."""
    scene.server.post("/api/queue/pause")
    job = scene.again("a")
    scene.arm()
    assert scene.ask(f"/api/jobs/{job['job_id']}/cancel") is None
    scene.outlive()
    answer = scene.ask(f"/api/jobs/{job['job_id']}/cancel")
    assert answer is not None
    assert answer.status_code == (200 if scene.before else 409)
    scene.server.post("/api/queue/resume")
    assert scene.server.job(job)["status"] == "CANCELLED"
    scene.check()


def play_approval(scene: Scene) -> None:
    """An approval holds, or can be given again."""
    job = scene.again("a", approval=True)
    scene.arm()
    assert scene.ask(f"/api/jobs/{job['job_id']}/approve") is None
    scene.outlive()
    if scene.before:
        assert scene.server.job(job)["status"] == "WAITING_ON_APPROVAL"
        scene.server.post(f"/api/jobs/{job['job_id']}/approve")
    scene.end_of(job)
    scene.check("a")


def play_rewind(scene: Scene) -> None:
    """A rewind is done whole, or not at all."""
    job = scene.again("a")
    scene.end_of(job)
    scene.arm()
    assert scene.ask(f"/api/jobs/{job['job_id']}/retry", force=True) is None
    scene.outlive()
    if scene.before:
        assert scene.server.job(job)["generation"] == 1
        scene.server.post(f"/api/jobs/{job['job_id']}/retry", force=True)
    assert scene.end_of(job)["generation"] == 2
    wait_for(lambda: len(scene.stage.notes()) == 2, "the second execution")
    scene.check("a", "a")


def play_reservation(scene: Scene) -> None:
    """A hold on the next slot ends with its server."""
    scene.arm()
    assert scene.ask("/api/reservations", reserved_by="me") is None
    scene.outlive()
    states = [one["state"] for one in scene.server.get("/api/reservations")["items"]]
    assert states == ([] if scene.before else ["EXPIRED"])
    scene.end_of(scene.again("a"))
    scene.check("a")


def claimed(scene: Scene, *, lease: bool = True) -> Any:
    """A job that a worker elsewhere has taken."""
    body = {"worker_id": "w", "job_types": ["elsewhere"], "lease": lease, "wait_s": 20}
    return scene.server.post("/api/claims", **body)["jobs"][0]


def play_claim(scene: Scene) -> None:
    """A claim whose answer was lost ends by itself, and the job is taken again."""
    job = scene.again("a", "elsewhere")
    scene.arm()
    body = {"worker_id": "w", "job_types": ["elsewhere"]}
    assert scene.ask("/api/claims", **body, lease=False) is None
    scene.outlive()
    lease_id = claimed(scene)["lease"]["lease_id"]
    scene.server.post(f"/api/leases/{lease_id}/release", worker_id="w", status="SUCCEEDED")
    assert scene.end_of(job)["attempt"] == 0
    scene.check()


def play_heartbeat(scene: Scene) -> None:
    """A lease that was to be renewed is still there."""
    job = scene.again("a", "elsewhere")
    lease_id = claimed(scene)["lease"]["lease_id"]
    scene.arm()
    assert scene.ask(f"/api/leases/{lease_id}/heartbeat", worker_id="w") is None
    scene.outlive()
    scene.server.post(f"/api/leases/{lease_id}/heartbeat", worker_id="w")
    scene.server.post(f"/api/leases/{lease_id}/release", worker_id="w", status="SUCCEEDED")
    assert scene.end_of(job)["attempt"] == 0
    scene.check()


def play_release(scene: Scene) -> None:
    """A report whose answer was lost is repeated, and is the same report."""
    job = scene.again("a", "elsewhere")
    path = f"/api/leases/{claimed(scene)['lease']['lease_id']}/release"
    scene.arm()
    report = {"worker_id": "w", "status": "SUCCEEDED", "result": 7}
    assert scene.ask(path, **report) is None
    scene.outlive()
    scene.server.post(path, **report)
    assert scene.end_of(job)["attempt"] == 0
    (run,) = scene.server.runs(job)
    assert (run["status"], run["result"]) == ("COMPLETED", 7)
    scene.check()


def play_delivery(scene: Scene) -> None:
    """A message is delivered at least once, under one id, and recorded as delivered."""
    with endpoint() as hook:
        scene.arm()
        scene.submit("a", webhook_url=hook.url)
        scene.outlive("UPDATE deliveries SET due_at = 0 WHERE due_at IS NOT NULL")

        def delivered() -> list[Any]:
            found = scene.server.get("/api/webhook-deliveries")["items"]
            return [one for one in found if one["status"] == "DELIVERED"]

        wait_for(delivered, "a delivery")
        messages = [hook.receive() for _ in range(2 if scene.before else 1)]
        assert len({one.headers["webhook-id"] for one in messages}) == 1
        assert hook.is_empty
    scene.check("a")


BOUNDARIES: dict[str, tuple[str, Callable[[Scene], None]]] = {
    "submit": ("allocate", play_submit),
    "start": ("grant_leases", play_start),
    "finish": ("close_runs", play_finish),
    "failure and its retry": ("close_runs", play_retry),
    "dependent let go": ("lower_open_deps", play_dependent),
    "lock handed on": ("free_locks", play_lock),
    "end of a group": ("end_group", play_group),
    "fire of a schedule": ("insert_fire", play_fire),
    "cancel": ("end_jobs", play_cancel),
    "approval": ("set_approval", play_approval),
    "rewind": ("rewind_job", play_rewind),
    "reservation": ("insert_reservation", play_reservation),
    "two-step claim": ("claim_job", play_claim),
    "heartbeat": ("renew_lease", play_heartbeat),
    "release": ("end_leases", play_release),
    "webhook delivered": ("record_delivery", play_delivery),
}
"""What is committed, the query that such a commit contains, and what is played around it."""


@pytest.mark.parametrize("before", [True, False], ids=["before the commit", "after the commit"])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_server_that_is_killed_at_a_boundary(stage: Stage, boundary: str, before: bool) -> None:
    query, play = BOUNDARIES[boundary]
    play(Scene(stage, query, before=before))
