"""The database file is deleted, moved or replaced under a running server."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.servers import Server, Stage, wait_for


def rename(path: Path) -> None:
    path.rename(path.with_suffix(".away"))


def replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    rename(path)
    os.rename(copy, path)


def _unready(server: Server) -> Any:
    answer = server.http.get("/readyz")
    return answer.json() if answer.status_code == 503 else None


@pytest.mark.parametrize("harm", [Path.unlink, rename, replace])
def test_nothing_is_acknowledged_until_the_same_file_is_back(
    stage: Stage, harm: Callable[[Path], None]
) -> None:
    server = stage.serve()
    before = server.submit("note", "before", delay_s=3600)
    path = server.data / "headway.db"
    harm(path)
    for _ in range(3):
        answer = server.http.post("/api/jobs", json={"job_type": "note", "params": {"name": "x"}})
        assert (answer.status_code, answer.json()["code"]) == (503, "database_moved")
    problems = wait_for(lambda: _unready(server), "a server that is not ready")["problems"]
    assert problems == [answer.json()["detail"]]
    with ThreadPoolExecutor(8) as pool:  # each reads in a thread of its own
        for scraped in pool.map(lambda _: server.http.get("/metrics").text, range(8)):
            assert "headway_write_failing 1.0" in scraped
    assert server.log.count("nothing could be written") == 1
    assert "Traceback" not in server.log

    if harm is not Path.unlink:
        path.with_suffix(".away").rename(path)
        wait_for(lambda: not _unready(server), "a server that is ready again")
        after = server.submit("note", "after")
        server.wait(after, "SUCCEEDED")
        server.kill()
        server = stage.serve()
        assert server.job(before)["status"] == "QUEUED"
        assert server.job(after)["status"] == "SUCCEEDED"
        assert len(server.get("/api/jobs")["items"]) == 2
    assert server.stop() == 0


def test_due_work_and_running_jobs_wait_for_the_file(stage: Stage) -> None:
    server = stage.serve()
    held = server.submit("hold", "held")
    stage.wait_for_note("held")
    due = server.submit("note", "due", delay_s=0.5)
    path = server.data / "headway.db"
    rename(path)
    stage.let_go("held")
    wait_for(lambda: "due work is delayed: headway.db was moved" in server.log, "the timekeeper")
    wait_for(lambda: "outcomes wait for the scheduler: headway.db" in server.log, "the reporter")
    path.with_suffix(".away").rename(path)
    assert server.wait(held, "SUCCEEDED", "TIMEOUT")["status"] == "SUCCEEDED"
    server.wait(due, "SUCCEEDED")
    assert "Traceback" not in server.log
    assert stage.notes() == ["held", "due"]


def test_a_deleted_log_is_noticed_and_a_clean_stop_saves_what_was_in_it(stage: Stage) -> None:
    server = stage.serve()
    kept = server.submit("note", "kept", delay_s=3600)
    (server.data / "headway.db-wal").unlink()
    answer = server.http.post("/api/jobs", json={"job_type": "note", "params": {"name": "x"}})
    assert (answer.status_code, answer.json()["code"]) == (503, "database_moved")
    assert server.stop() == 0
    with contextlib.closing(sqlite3.connect(server.data / "headway.db")) as raw:
        assert raw.execute("SELECT number FROM jobs").fetchall() == [(kept["number"],)]
    assert stage.serve().job(kept)["number"] == kept["number"]
