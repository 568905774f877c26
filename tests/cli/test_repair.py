"""`headway repair`: a plan, a backup, a mend, and what is refused."""

import os
import pty
import sqlite3
import subprocess
from pathlib import Path

import psycopg
import pytest
from tests.cli.conftest import PROGRAM, WAIT_S, Cli

LOST_LEASE = (
    "UPDATE jobs SET status = 'RUNNING', run_id = 'lost', started_at = created_at WHERE number = 1"
)
PROBLEMS = ["job 1 is RUNNING without a lease", "job 1 is RUNNING without an open run"]


def break_store(folder: Path) -> None:
    """Job 1 runs, but nothing that a running job must have is there."""
    with sqlite3.connect(folder / ".headway" / "headway.db") as database:
        database.execute(LOST_LEASE)


def test_a_sound_store_needs_no_repair(cli: Cli) -> None:
    cli.call("submit", "story")
    assert cli.text("repair") == "No problems found\n"
    assert cli.text("repair", "--yes") == "No problems found\n"
    assert not list(cli.folder.glob(".headway/*before-repair*"))


def test_what_would_be_done_is_shown_and_not_done(cli: Cli) -> None:
    cli.call("submit", "story")
    break_store(cli.folder)
    said = cli.text("repair", "--dry-run")
    assert said.startswith("To mend:\n")
    assert all(f"  {problem}\n" in said for problem in PROBLEMS)
    assert cli.json("verify", code=1)["problems"] == PROBLEMS
    assert "look at the plan with --dry-run" in cli.error("repair", code=2)
    assert "look at the plan with --dry-run" in cli.error("repair", "--json", code=2)


def test_it_is_done_after_a_backup_and_noted(cli: Cli) -> None:
    cli.call("submit", "story")
    break_store(cli.folder)
    done = cli.json("repair", "--yes")
    assert ([one["problem"] for one in done["mended"]], done["left"]) == (PROBLEMS, [])
    assert cli.json("verify")["ok"]
    assert cli.json("jobs", "show", "1")["status"] == "FAILED"
    backup = Path(done["backup"])
    assert backup.stat().st_mode & 0o777 == 0o600
    before = cli.json("verify", "--db", f"sqlite:///{backup}", code=1)
    assert before["problems"] == PROBLEMS
    assert "repair" in [one["action"] for one in cli.json("audit")["items"]]


@pytest.mark.parametrize(("answer", "status"), [("y", "FAILED"), ("n", "RUNNING")])
def test_a_person_is_asked(cli: Cli, answer: str, status: str) -> None:
    cli.call("submit", "story")
    break_store(cli.folder)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "repair"], cwd=cli.folder, stdin=theirs, stdout=theirs, stderr=theirs
    ) as asking:
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(ours, 1000)
        os.write(ours, f"{answer}\n".encode())
        code = asking.wait(WAIT_S)
    os.close(theirs)
    os.close(ours)
    assert b"Make a backup and mend 2 problems?" in seen
    assert code == (0 if answer == "y" else 1)
    assert cli.json("jobs", "show", "1")["status"] == status


def test_what_is_left_says_what_to_do_and_fails(cli: Cli) -> None:
    cli.call("submit", "story")
    cli.call("submit", "story")
    with sqlite3.connect(".headway/headway.db") as database:
        database.execute("UPDATE jobs SET chain = 1")
    said = cli.text("repair", "--yes", code=1)
    assert "the chain of job 1 has more than one active link" in said
    assert "-> which of them should run is yours to say: cancel the others" in said
    assert not list(cli.folder.glob(".headway/*before-repair*"))


def test_a_store_in_use_is_refused(served: Cli) -> None:
    assert "stop it first" in served.error("repair", "--yes", code=4)


def test_a_store_on_postgresql_is_repaired(cli: Cli, empty_postgres: str) -> None:
    cli.call("submit", "story", "--db", empty_postgres)
    with psycopg.connect(empty_postgres) as connection:
        connection.execute(LOST_LEASE.encode())
    done = cli.json("repair", "--yes", "--db", empty_postgres)
    assert [one["problem"] for one in done["mended"]] == PROBLEMS
    assert cli.json("verify", "--db", empty_postgres)["ok"]
    before = cli.json("verify", "--db", f"sqlite:///{done['backup']}", code=1)
    assert before["problems"] == PROBLEMS
