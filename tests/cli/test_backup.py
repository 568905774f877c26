"""`headway backup`, and what can be done with one: jobs go on from it."""

import json
import signal
import tarfile
from pathlib import Path

import pytest
from tests.cli.conftest import APP, WAIT_S, Cli


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the store is that is backed up."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'first' / 'headway.db'}"
    return str(request.getfixturevalue("empty_postgres"))


def work(cli: Cli, data: str, *more: str, until: int) -> None:
    """Run a server until so many jobs have succeeded."""
    (cli.folder / "shop.py").write_text(APP)
    words = ("serve", "--port", "0", "--app", "shop:app", "--data", data, "--json", *more)
    with cli.start(*words) as process:
        assert process.stdout is not None
        at = json.loads(process.stdout.readline())["url"]
        token = (cli.folder / data / "admin.token").read_text().strip()
        cli.call("jobs", "attach", str(until), "--url", at, "--token", token)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)


def statuses(cli: Cli, *where: str) -> list[str]:
    """How the jobs stand, oldest first."""
    found = cli.json("jobs", "list", "--all", *where)["items"]
    return [one["status"] for one in sorted(found, key=lambda one: one["number"])]


def test_jobs_go_on_from_a_backup(cli: Cli, url: str) -> None:
    here = ("--data", "first", "--db", url)
    cli.call("submit", "story", "genre=horror", *here)
    work(cli, "first", "--db", url, until=1)
    cli.call("submit", "story", "genre=noir", *here)
    answer = cli.json("backup", "copy.db", "--logs", *here)
    assert (answer["file"], answer["logs"], answer["runs"]) == ("copy.db", "copy.db.logs.tar", 1)
    assert cli.json("verify", "--db", "sqlite:///copy.db")["ok"]

    restored = cli.folder / "second"
    restored.mkdir(mode=0o700)
    (cli.folder / "copy.db").rename(restored / "headway.db")
    with tarfile.open("copy.db.logs.tar") as archive:
        archive.extractall(restored, filter="data")
    assert statuses(cli, "--data", "second") == ["SUCCEEDED", "QUEUED"]
    work(cli, "second", until=2)
    assert statuses(cli, "--data", "second") == ["SUCCEEDED", "SUCCEEDED"]
    assert "a horror story" in cli.text("jobs", "tail", "1", "--data", "second")
    assert cli.json("verify", "--data", "second")["ok"]


def test_a_backup_goes_back_to_postgresql(cli: Cli, empty_postgres: str) -> None:
    cli.call("submit", "story", "genre=noir")
    cli.call("backup", "copy.db")
    way = ("--from", "sqlite:///copy.db", "--to", empty_postgres)
    assert cli.json("migrate", *way)["copied"]["jobs"] == 1
    work(cli, "second", "--db", empty_postgres, until=1)
    assert statuses(cli, "--db", empty_postgres) == ["SUCCEEDED"]


def test_what_is_there_is_replaced_only_if_told_to(cli: Cli) -> None:
    cli.call("submit", "story")
    (cli.folder / "copy.db.logs.tar").write_text("mine")
    assert "copy.db.logs.tar already exists" in cli.error("backup", "copy.db", "--logs", code=4)
    assert not (cli.folder / "copy.db").exists()
    assert cli.json("backup", "copy.db", "--logs", "--force")["runs"] == 0
    for name in ("copy.db", "copy.db.logs.tar"):
        assert (cli.folder / name).stat().st_mode & 0o777 == 0o600
