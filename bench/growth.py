"""Growth: what every question costs beside millions of jobs that ended and that wait."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench import growth_store
from bench.bed import bed
from bench.remote import ROOT, Served, serving
from headway.operations.paging import write_cursor

RUNNING = 400
ROUNDS = 7

BY_TEMPLATE = f"template_id={growth_store.TEMPLATE}"
OF_ENDED = (
    "",
    "queue=queue-1",
    "queue=queue-9",
    "queue=rare-old",
    "queue=rare-new",
    "queue=none",
    "job_type=type-1",
    "job_type=rare-old",
    "queue=queue-1&job_type=type-11",
    "queue=queue-1&job_type=type-2",
    "tag=common",
    "tag=one-percent",
    "tag=rare-old",
    "tag=none",
    "tag=one-percent&queue=queue-1",
    BY_TEMPLATE,
    "template_id=none",
    f"{BY_TEMPLATE}&queue=queue-1",
    f"group_id={growth_store.GROUP}",
    "since=2000-01-01T00:00:00Z",
    "since=2000-01-01T00:00:00Z&queue=rare-old",
    "since=2030-01-01T00:00:00Z",
    "status=ended",
    "status=SUCCEEDED",
    "status=FAILED",
    "status=FAILED,TIMEOUT",
    "status=CANCELLED",
    "status=BLOCKED_BY_DEPENDENCY",
    "status=ended&queue=rare-old",
    "status=FAILED&queue=queue-3",
    "status=FAILED&queue=queue-1",
    "status=FAILED&job_type=type-1",
    "status=FAILED&tag=common",
    f"status=FAILED&{BY_TEMPLATE}",
)
OF_ACTIVE = (
    "status=active",
    "status=RUNNING",
    "status=QUEUED",
    "status=WAITING_ON_DEPS",
    "status=WAITING_ON_APPROVAL",
    "status=WAITING_ON_LOCKS",
    "status=active&queue=queue-1",
    "status=active&queue=queue-9",
    "status=QUEUED&job_type=type-1",
    "status=RUNNING&queue=queue-1",
)
ALSO = ("", "&queue=rare-old", "&tag=common", "&status=FAILED")
"""What is asked besides of the jobs of the last minute."""


@dataclass(frozen=True)
class Read:
    """How long one question took."""

    path: str
    p50_ms: float
    size: int


@dataclass(frozen=True)
class Grown:
    """A server on a large store, the seconds that it took to start, and a job that runs."""

    served: Served
    started_s: float
    gate: int
    ended: int
    waiting: int


@contextmanager
def grown(ended: int, waiting: int, db: str | None = None) -> Iterator[Grown]:
    """A server on a store of that size with some running jobs."""
    with bed(db) as scheduler:
        gate = growth_store.build(scheduler, ended, waiting)
        url = scheduler.store.database.url if db else None
        began = time.perf_counter()
        with serving(url, scheduler.data) as served:
            started = time.perf_counter() - began
            served.post("/api/claims", worker_id="w", max_jobs=RUNNING, lease=True, ttl_s=3600)
            yield Grown(served, started, gate, ended, waiting)


def reads(store: Grown) -> Iterator[Read]:
    """Everything that the dashboard, the commands and the API ask."""
    for path in paths(store.ended, store.waiting, store.gate):
        yield timed(store.served, path)


def top(served: Served) -> float:
    """Milliseconds for `headway top --once`, the start of the command included."""
    command = [sys.executable, "-m", "headway.cli.main", "--url", served.url, "top", "--once"]
    times = []
    for _ in range(3):
        began = time.perf_counter()
        environment = {"HEADWAY_TOKEN": served.token, "PATH": "/usr/bin"}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def timed(served: Served, path: str) -> Read:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = served.http.get(path).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
    return Read(path, statistics.median(times), len(answer.content))


def paths(ended: int, waiting: int, gate: int) -> Iterator[str]:
    first = growth_store.FIRST_COPY
    yield from _one_job(first + ended // 2)
    for place in (0, 12, 15, 17, 18, 19):  # ready, later, behind a job, a person, a lock, a limit
        yield from (
            f"/api/jobs/{first + ended + waiting // 40 * 20 + place}{part}" for part in ("", "/why")
        )
    yield from (f"/api/jobs/{gate}", f"/api/jobs/{gate}/why")
    yield from _lists(first + ended // 2)
    yield "/api/queue"
    yield f"/api/queue?cursor={write_cursor(f'1,{(first + ended + waiting // 2) * 100},0')}"
    yield from ("/api/queue/status", "/api/scheduler/status", "/api/limits", "/api/locks")
    yield from ("/api/graph", "/api/graph?all=true", f"/api/graph?job={gate}")
    yield f"/api/graph?job={first + ended + 15}"
    yield from ("/api/job-groups", f"/api/job-groups/{growth_store.GROUP}")
    yield from ("/api/events?last=50", f"/api/events?cursor={write_cursor(ended // 2)}")
    yield from ("/api/workers", "/metrics")


def _one_job(number: int) -> Iterator[str]:
    for part in ("", "/why", "/result", "/runs", "/events"):
        yield f"/api/jobs/{number}{part}"


def _lists(middle: int) -> Iterator[str]:
    """Lists of jobs and runs by every filter: their first pages, and pages from the middle on."""
    soon = datetime.now(UTC) - timedelta(seconds=60)
    since = soon.isoformat().replace("+00:00", "Z")
    for one in (*OF_ENDED, *OF_ACTIVE, *(f"since={since}{more}" for more in ALSO)):
        yield f"/api/jobs?{one}"
    cursor = write_cursor(middle)
    for one in ("", "queue=queue-1&", "tag=common&", "status=FAILED&", "queue=rare-new&"):
        yield f"/api/jobs?{one}cursor={cursor}"
    runs = ("", "status=FAILED", "status=RUNNING", "status=SKIPPED", "status=COMPLETED")
    yield from (f"/api/job-runs?{one}" for one in runs)
