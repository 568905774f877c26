"""The primary dies with its machine, its synchronous standby is promoted, and servers go on.

The oracle: every submit that was acknowledged, and every execution, which a job writes down.
"""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from tests.crash.test_postgres_bad_days import Load, are_ready, check, fires
from tests.postgres import OwnServer
from tests.servers import Server, Stage, wait_for

from headway.clock import SystemClock
from headway.storage.postgres.database import PostgresDatabase
from headway.storage.upkeep import invariants

OPTIONS = "-c fsync=off -c max_wal_senders=4"
IS_SYNCHRONOUS = "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"


class Pair:
    """A primary and its standby, which has everything that the primary acknowledges."""

    def __init__(self, folders: list[Path]) -> None:
        ports = _free_ports()
        self.primary = OwnServer(folders[0], OPTIONS, port=ports[0])
        self.standby = OwnServer(folders[1], OPTIONS, port=ports[1], follows=self.primary)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            wait_for(lambda: connection.execute(IS_SYNCHRONOUS).fetchone(), "a standby in step")


def _free_ports() -> list[int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (one, other)]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two real servers on loopback."""
    folders = [Path(tempfile.mkdtemp(prefix="headway-pg-", dir="/tmp")) for _ in range(2)]
    made = Pair(folders)
    yield made
    made.standby.stop()
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture
def two(stage: Stage, pair: Pair) -> list[Server]:
    """Two servers that know both addresses."""
    return [stage.serve(data=data, db=pair.url, slots=4) for data in ("one", "two")]


def test_a_primary_that_dies_costs_nothing_that_was_acknowledged(
    stage: Stage, two: list[Server], pair: Pair
) -> None:
    template = two[0].post("/api/job-templates", name="tick", job_type="say", params={"lines": 1})
    schedule = two[0].post("/api/schedules", template=template["name"], every=1)
    held = two[0].submit("hold", "long")
    stage.wait_for_note("long")
    with Load(two) as load:
        load.wait_for_more(100)
        pair.primary.kill()
        pair.standby.promote()
        load.wait_for_more(100)
    wait_for(lambda: are_ready(two), "servers that are ready")
    stage.let_go("long")
    assert two[1].wait(held, "SUCCEEDED", "FAILED", "TIMEOUT")["status"] == "SUCCEEDED"
    before = len(fires(two[0]))
    wait_for(lambda: len(fires(two[0])) > before, "another fire of the schedule")
    two[0].http.patch(f"/api/schedules/{schedule['schedule_id']}", json={"enabled": False})
    check(stage, two[0], load, "SUCCEEDED")
    times = fires(two[0])
    assert {after - before for before, after in pairwise(times)} <= {
        timedelta(seconds=second) for second in range(1, 20)
    }
    assert len(times) == len(set(times))
    database = PostgresDatabase(pair.url, SystemClock())
    with database.reading() as tx:
        assert invariants.broken(tx) == []
    database.close()


def test_a_standby_that_is_not_waited_for_is_warned_of_and_loses_what_was_acknowledged(
    stage: Stage, pair: Pair
) -> None:
    database = PostgresDatabase(pair.url, SystemClock())
    assert not [one for one in database.doubts() if "standby" in one]
    with psycopg.connect(pair.primary.url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET synchronous_commit = 'local'")
    (doubt,) = [one for one in database.doubts() if "standby" in one]
    assert "synchronous_commit = local" in doubt
    server = stage.serve(db=pair.url)
    with psycopg.connect(pair.standby.url, autocommit=True) as connection:
        ((receiver,),) = connection.execute("SELECT pid FROM pg_stat_wal_receiver").fetchall()
    server.wait(server.submit("note", "kept"), "SUCCEEDED")
    os.kill(receiver, signal.SIGSTOP)
    lost = server.submit("note", "lost")
    pair.primary.kill()
    os.kill(receiver, signal.SIGKILL)
    pair.standby.promote()
    wait_for(lambda: are_ready([server]), "a server that is ready")
    assert server.http.get(f"/api/jobs/{lost['job_id']}").status_code == 404
