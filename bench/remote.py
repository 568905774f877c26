"""Workers over HTTP: a server and a worker, each a process of its own."""

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.cost import Cost, Meter, cpu_s, resident_mb

ROOT = Path(__file__).parents[1]
BATCH = 5000


class Served:
    """A running server, and the calls that measuring needs."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, data: Path) -> None:
        self.pid = process.pid
        self.url = url
        self.token = (data / "admin.token").read_text().strip()
        headers = {"authorization": f"Bearer {self.token}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=60)

    def post(self, path: str, **body: Any) -> Any:
        """Ask, and expect a good answer."""
        answer = self.http.post(path, json=body).raise_for_status()
        return answer.json() if answer.content else None

    def fill(self, count: int, job_type: str) -> None:
        """Submit so many jobs."""
        for start in range(0, count, BATCH):
            jobs = [{"job_type": job_type}] * min(BATCH, count - start)
            self.post("/api/jobs/batch", jobs=jobs)

    def succeeded(self) -> int:
        """How many jobs have ended well."""
        totals = self.http.get("/api/scheduler/status").raise_for_status().json()["totals"]
        return int(totals["succeeded"])

    def commits(self) -> int:
        """How many transactions were written so far."""
        lines = self.http.get("/metrics").raise_for_status().text.splitlines()
        (line,) = [one for one in lines if one.startswith("headway_commits_total ")]
        return int(float(line.split()[1]))


@contextmanager
def serving(
    db: str | None = None, data: Path | None = None, app: str | None = None
) -> Iterator[Served]:
    """A server, on a fresh data directory or on one that is there; without an app no handlers."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        data = data or Path(folder) / "data"
        command = ["serve", "--data", str(data), "--port", "0", "--workspace", folder, "--json"]
        command += ["--db", db] if db else []
        command += ["--app", app] if app else []
        with _program(command) as process:
            assert process.stdout is not None
            served = Served(process, json.loads(process.stdout.readline())["url"], data)
            served.http.put("/api/limits/capacity", json={"size": 1_000_000}).raise_for_status()
            yield served
            served.http.close()


@contextmanager
def working(served: Served, slots: int) -> Iterator[None]:
    """A worker process."""
    command = ["worker", "--url", served.url, "--app", "bench.handlers:app", "--slots", str(slots)]
    with (
        tempfile.TemporaryDirectory(prefix="headway-bench-") as folder,
        _program([*command, "--data", folder], HEADWAY_TOKEN=served.token) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        _until(lambda: len(served.http.get("/api/workers").json()["items"]) == 2)
        yield


@contextmanager
def _program(arguments: list[str], **environment: str) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [sys.executable, "-m", "headway.cli.main", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _until(look: Callable[[], bool]) -> None:
    while not look():
        time.sleep(0.02)


def drain(count: int, slots: int, db: str | None = None) -> Cost:
    """Jobs that one worker process does; the CPU is the server's."""
    with serving(db) as served:
        served.post("/api/queue/pause")
        served.fill(count, "noop")
        with working(served, slots):
            meter = Meter(served.pid)
            served.post("/api/queue/resume")
            _until(lambda: served.succeeded() >= count)
            return meter.cost(count)


def latency(count: int, db: str | None = None) -> tuple[float, float]:
    """From submit to the start of the handler on an idle system: p50 and p99 in milliseconds."""
    with serving(db) as served, working(served, 4):
        times = []
        for done in range(count):
            times.append(_stamp(served, done) * 1000)
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.99)]


def _stamp(served: Served, done: int) -> float:
    """How long a job took to start, after so many others."""
    job = served.post("/api/jobs", job_type="stamp", params={"sent": time.perf_counter()})
    _until(lambda: served.succeeded() > done)
    result = served.http.get(f"/api/jobs/{job['job_id']}/result").json()
    return float(result["result_data"])


def idle(workers: int, seconds: float, db: str | None = None) -> tuple[float, float]:
    """CPU percent and megabytes of a server at which so many workers wait for jobs."""
    room = 2 * workers + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, max(room, _most_files())))
    with serving(db) as served:
        return asyncio.run(_idle(served, workers, seconds))


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


async def _idle(served: Served, workers: int, seconds: float) -> tuple[float, float]:
    waiting = [asyncio.create_task(_wait_for_jobs(served, one)) for one in range(workers)]
    await asyncio.sleep(seconds / 3)  # until everybody has come and was made known
    before = cpu_s(served.pid)
    await asyncio.sleep(seconds)
    used, resident = cpu_s(served.pid) - before, resident_mb(served.pid)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return used / seconds * 100, resident


async def _wait_for_jobs(served: Served, number: int) -> None:
    """Claims, one after another, as a worker sends them."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    body = json.dumps({"worker_id": f"w{number}", "job_types": ["none"], "wait_s": 20})
    request = (
        f"POST /api/claims HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {served.token}\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    )
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        while True:
            writer.write(request.encode())
            await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.close()


def heartbeats(leases: int, rounds: int, db: str | None = None) -> tuple[float, float]:
    """Milliseconds and transactions for one round of heartbeats for so many leases."""
    with serving(db) as served:
        served.fill(leases, "held")
        held: list[str] = []
        while len(held) < leases:
            got = served.post("/api/claims", worker_id="w", max_jobs=1000, lease=True, ttl_s=600)
            held += [one["lease"]["lease_id"] for one in got["jobs"]]
        items = [{"lease_id": lease} for lease in held]
        commits, began = served.commits(), time.perf_counter()
        for _ in range(rounds):
            answer = served.post("/api/leases/heartbeats", worker_id="w", items=items)
            assert all(one["ok"] for one in answer["items"])
        seconds = time.perf_counter() - began
        return seconds / rounds * 1000, (served.commits() - commits) / rounds
