"""`headway prove`: a sound store passes, each planted fault is found, nothing is left behind."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.servers import wait_for

from headway.prove import places
from headway.prove.controls import CONTROLS
from headway.prove.oracle import findings

PROVE = (sys.executable, "-m", "headway.cli.main", "prove", "--minutes", "1")
FOUND_AS = {
    "lost-submit": findings.LOST,
    "lost-finish": findings.LOST,
    "doubled-run": findings.DOUBLED,
    "broken-order": findings.ORDER,
}


def proved(folder: Path, *words: str, code: int) -> Any:
    done = subprocess.run(
        [*PROVE, "--json", *words], cwd=folder, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def processes_in(folder: Path) -> list[int]:
    """Processes that work in the folder or below it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and folder in (entry / "cwd").readlink().parents:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_sound_sqlite_store_passes_and_leaves_nothing_behind(tmp_path: Path) -> None:
    report = proved(tmp_path, "--kills", "6", "--cuts", "4", "--seed", "7", code=0)
    assert report["passed"]
    assert not any(report["found"].values())
    assert sum(report["kills"].values()) >= 6
    assert report["images"] == 4
    assert report["seed"] == 7
    assert report["executions"] > 0
    assert report["fires"] > 0
    assert list(tmp_path.iterdir()) == []


def test_a_sound_postgres_store_passes_in_a_schema_that_is_removed(
    tmp_path: Path, fresh_database: Callable[[], str]
) -> None:
    url = fresh_database()
    report = proved(tmp_path, "--kills", "4", "--db", url, code=0)
    assert report["kept"] is None
    assert report["store"] == "PostgreSQL"
    assert report["jobs"] > 0
    with psycopg.connect(url) as connection:
        left = connection.execute(
            "SELECT table_schema FROM information_schema.tables"
            " WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
    assert left == []


@pytest.mark.parametrize("control", CONTROLS)
def test_a_planted_fault_is_found(tmp_path: Path, control: str) -> None:
    report = proved(
        tmp_path, "--kills", "3", "--cuts", "0", "--seed", "3", "--control", control, code=1
    )
    assert report["found"][FOUND_AS[control]] > 0


def test_an_unknown_fault_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROVE, "--control", "nothing"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "lost-submit, lost-finish, doubled-run, broken-order" in done.stderr


def started(folder: Path) -> subprocess.Popen[str]:
    """The program, once its clients have submitted jobs."""
    process = subprocess.Popen(
        [*PROVE, "--cuts", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for(
        lambda: any(file.stat().st_size for file in folder.glob("*/ledgers/client-*")),
        "a client that submits",
    )
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_report_what_was_seen_so_far_and_clean_up(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = started(tmp_path)
    process.send_signal(number)
    said, complained = process.communicate(timeout=100)
    assert process.returncode == 130, said + complained
    assert "Interrupted. Up to here: nothing was wrong." in said
    assert processes_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_when_it_is_killed_its_processes_end_too(tmp_path: Path) -> None:
    process = started(tmp_path)
    process.kill()
    process.communicate(timeout=30)
    wait_for(lambda: not processes_in(tmp_path), "the end of its processes")


def test_the_schema_is_named_in_the_connection_options() -> None:
    url = places.with_search_path("postgresql://me@host/db?options=-c%20geqo%3Doff", "mine")
    assert url == "postgresql://me@host/db?options=-c%20geqo%3Doff%20-c%20search_path%3Dmine"
