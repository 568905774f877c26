"""PostgreSQL goes away, servers are killed, clocks differ: two servers under load go on.

The oracle: every submit that was acknowledged, and every execution, which a job writes down.
"""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import psycopg
import pytest
from tests.crash.test_shared_data import all_jobs, wait_until_idle
from tests.postgres import OwnServer
from tests.servers import Server, Stage, wait_for

# One PostgreSQL serves the tests of this file, so one process runs them.
pytestmark = pytest.mark.xdist_group("own_postgres")

CALLERS = 4
END_ONE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = 'headway' ORDER BY random() LIMIT 1
"""
EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
AHEAD = (
    "import datetime; from headway.clock import SystemClock; own = SystemClock.now; "
    "SystemClock.now = lambda self: own(self) + datetime.timedelta(seconds=30); "
)


@pytest.fixture
def db(own_postgres: OwnServer) -> str:
    """An empty database."""
    with psycopg.connect(own_postgres.url, autocommit=True) as connection:
        connection.execute(EMPTY)
    return own_postgres.url


@pytest.fixture
def two(stage: Stage, db: str) -> list[Server]:
    """Two servers on one database."""
    return [stage.serve(data=data, db=db, slots=4) for data in ("one", "two")]


class Load:
    """Callers who submit until they are told to stop, and know what was acknowledged."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.acknowledged: list[Any] = []
        self._over = threading.Event()

    def run(self) -> "Load":
        """Submit for as long as the block takes."""
        self._pool = ThreadPoolExecutor(CALLERS)
        self._callers = [self._pool.submit(self._call, number) for number in range(CALLERS)]
        return self

    def __enter__(self) -> "Load":
        return self.run()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for caller in self._callers:
            caller.result(60)
        self._pool.shutdown()

    def _call(self, caller: int) -> None:
        count = 0
        while not self._over.is_set():
            count += 1
            self._submit(f"{caller}-{count}")
            self._over.wait(0.01)

    def _submit(self, name: str) -> None:
        """Ask until somebody acknowledges it; the key makes it one job all the same."""
        body = {
            "job_type": "note",
            "params": {"name": name},
            "retry_policy": {"max_attempts": 0},
            "idempotency_key": name,
        }
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up:
            for server in self.servers:
                try:
                    answer = server.http.post("/api/jobs", json=body)
                except httpx.TransportError:  # it was killed, and another takes over
                    continue
                if answer.status_code in (200, 201):
                    self.acknowledged.append(answer.json())
                    return
                assert answer.status_code == 503, answer.text
            time.sleep(0.02)
        raise AssertionError(f"{name} was never acknowledged")

    def wait_for_more(self, count: int = 20) -> None:
        """Wait until so many more were acknowledged: it goes on."""
        target = len(self.acknowledged) + count
        wait_for(lambda: len(self.acknowledged) >= target, "more acknowledged submits")


def check(stage: Stage, server: Server, load: Load, *ends: str) -> None:
    """Nothing acknowledged is lost, nothing ran twice, what succeeded ran; logs have no traces."""
    wait_until_idle(server)
    found = {job["job_id"]: job for job in all_jobs(server)}
    ran = Counter(stage.notes())
    assert set(found) >= {job["job_id"] for job in load.acknowledged}
    assert set(ran.values()) <= {1}
    assert not [process.log for process in stage.processes if "Traceback" in process.log]
    for job in found.values():
        assert job["status"] in ends, job
        if job["status"] == "SUCCEEDED" and job["schedule_id"] is None:
            assert ran[job["params"]["name"]] == 1


def are_ready(servers: list[Server]) -> bool:
    return all(server.http.get("/readyz").status_code == 200 for server in servers)


def test_connections_that_are_killed_at_random_cost_nothing(
    stage: Stage, two: list[Server], db: str
) -> None:
    chance = random.Random(6)
    with Load(two) as load, psycopg.connect(db, autocommit=True) as connection:
        for _ in range(25):
            connection.execute(END_ONE)
            load.wait_for_more(chance.randint(1, 5))
    check(stage, two[0], load, "SUCCEEDED")
    wait_for(lambda: are_ready(two), "servers that are ready")


def test_a_postgresql_that_is_restarted_under_load_costs_nothing(
    stage: Stage, two: list[Server], own_postgres: OwnServer
) -> None:
    with Load(two) as load:
        for mode in ("immediate", "fast"):
            load.wait_for_more()
            own_postgres.stop(mode)
            # A good look at the database is good for a second: the last one may still hold.
            wait_for(lambda: not are_ready(two[:1]), "a server that says it is not ready")
            own_postgres.start()
            load.wait_for_more()
    check(stage, two[0], load, "SUCCEEDED")
    wait_for(lambda: are_ready(two), "servers that are ready")


END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'headway'"
)
READ_ONLY = "ALTER DATABASE postgres SET default_transaction_read_only = on"
WRITABLE = "ALTER DATABASE postgres RESET default_transaction_read_only"


def problems(server: Server) -> str:
    """Why a server is not ready; it always says so without an error of its own."""
    answer = server.http.get("/readyz")
    assert answer.status_code in (200, 503), answer.text
    return "; ".join(answer.json()["problems"])


def test_a_database_that_was_read_only_for_a_while_is_written_again(
    stage: Stage, two: list[Server], db: str
) -> None:
    with Load(two) as load, psycopg.connect(db, autocommit=True) as connection:
        load.wait_for_more()
        connection.execute(READ_ONLY)
        connection.execute(END_ALL)
        wait_for(lambda: all("read-only" in problems(one) for one in two), "a reason")
        connection.execute(WRITABLE)
        load.wait_for_more()
        wait_for(lambda: are_ready(two), "servers that are ready")
    check(stage, two[0], load, "SUCCEEDED")


def test_servers_go_on_when_a_standby_that_they_reached_is_promoted(
    stage: Stage, two: list[Server], db: str, own_postgres: OwnServer
) -> None:
    with Load(two) as load:
        load.wait_for_more()
        own_postgres.become_standby()
        wait_for(lambda: all("read-only" in problems(one) for one in two), "a reason")
        with psycopg.connect(db, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")
        load.wait_for_more()
        wait_for(lambda: are_ready(two), "servers that are ready")
    check(stage, two[0], load, "SUCCEEDED")
    wait_for(lambda: all(_hears(one) for one in two), "servers that hear each other again")


def _hears(server: Server) -> bool:
    return "headway_deaf_seconds 0.0" in server.http.get("/metrics").text


def fires(server: Server) -> list[datetime]:
    """Every time at which the schedule fired, oldest first."""
    fired = [job for job in all_jobs(server) if job["fire_time"] and not job["retry_of"]]
    return sorted(datetime.fromisoformat(job["fire_time"]) for job in fired)


def wait_for_another_fire(server: Server) -> None:
    """Wait until the schedule has fired once more: cron goes on."""
    before = len(fires(server))
    wait_for(lambda: len(fires(server)) > before, "another fire of the schedule")


def test_servers_that_are_killed_under_load_lose_nothing_and_cron_goes_on(
    stage: Stage, two: list[Server], db: str
) -> None:
    template = two[0].post("/api/job-templates", name="tick", job_type="say", params={"lines": 1})
    two[0].post("/api/schedules", template=template["name"], every=1)
    with Load(two) as load:
        for data in ("one", "two", "one"):
            load.wait_for_more()
            two[0].kill()
            load.wait_for_more()
            wait_for_another_fire(two[1])
            two.append(stage.serve(data=data, db=db, slots=4))
            two.pop(0)
    for schedule in two[0].get("/api/schedules")["items"]:
        two[0].http.patch(f"/api/schedules/{schedule['schedule_id']}", json={"enabled": False})
    check(stage, two[0], load, "SUCCEEDED", "FAILED", "TIMEOUT")
    broken = [job for job in all_jobs(two[0]) if job["status"] in ("FAILED", "TIMEOUT")]
    # A server runs four at once, and claims while fewer than four that ended are not reported yet.
    assert len(broken) <= 3 * (4 + 3), Counter(job["error"] for job in broken)
    times = fires(two[0])
    assert len(times) > 2
    assert {after - before for before, after in pairwise(times)} == {timedelta(seconds=1)}


@pytest.fixture
def apart(stage: Stage, db: str) -> list[Server]:
    """Two servers whose clocks are 30 s apart; a lease lasts a tenth of that."""
    settings = {"db": db, "app": "shop:app", "port": 0, "lease_ttl_s": 3}
    ahead = Server(stage, {**settings, "data": "ahead"}, AHEAD)
    return [ahead, stage.serve(**settings, data="right")]


def test_servers_whose_clocks_differ_agree_on_what_is_due(
    stage: Stage, apart: list[Server]
) -> None:
    held = [apart[0].submit("hold", name) for name in ("a", "b")]
    later = apart[0].submit("note", "later", delay_s=600)
    runs = []
    for job, name in zip(held, ("a", "b"), strict=True):
        stage.wait_for_note(name)
        runs += apart[1].runs(job)
    assert len({run["worker_id"] for run in runs}) == 2
    first = [apart[1].get(f"/api/leases/{run['lease_id']}")["expires_at"] for run in runs]

    def renewed() -> bool:
        now = [apart[1].get(f"/api/leases/{run['lease_id']}")["expires_at"] for run in runs]
        return all(after > before for before, after in zip(first, now, strict=True))

    for _ in range(2):
        wait_for(renewed, "leases that are renewed")
        first = [apart[1].get(f"/api/leases/{run['lease_id']}")["expires_at"] for run in runs]
    for job, name in zip(held, ("a", "b"), strict=True):
        stage.let_go(name)
        apart[1].wait(job, "SUCCEEDED")
    assert sorted(stage.notes()) == ["a", "b"]
    assert apart[1].job(later)["status"] == "QUEUED"


def test_a_database_server_that_does_not_sync_is_warned_of(stage: Stage, db: str) -> None:
    server = stage.serve(data="one", db=db)
    assert "the PostgreSQL server runs with fsync = off: if its machine crashes" in server.log
