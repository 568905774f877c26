"""A database of an older version: only `serve` and `migrate` bring it up to date."""

import signal
from collections.abc import Callable

import pytest
from tests.cli.conftest import WAIT_S, Cli

import headway
from headway import local_wiring
from headway.clock import SystemClock
from headway.domain import errors
from headway.storage.engine.store import Database

COMMANDS = (
    *("jobs list", "jobs status", "why 1", "jobs cancel 1", "submit story", "run -- true"),
    *("top --once", "schedules list", "templates list", "limits set gpu 1", "pause", "gc"),
    *("verify", "tokens list", "workers list"),
)


@pytest.fixture(params=["sqlite", "postgres"])
def older(
    request: pytest.FixtureRequest,
    cli: Cli,
    fresh_database: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Database:
    """A database with the tables of the first version, which commands use."""
    file = f"sqlite:///{cli.folder / 'older.db'}"
    url = file if request.param == "sqlite" else fresh_database()
    monkeypatch.setenv("HEADWAY_DB", url)
    database = local_wiring.open_database(url, SystemClock())
    database.migrate(to=1)
    assert database.pending_migrations()
    return database


@pytest.mark.parametrize("command", COMMANDS)
def test_other_commands_say_what_to_do_and_change_nothing(
    cli: Cli, older: Database, command: str
) -> None:
    pending = older.pending_migrations()
    told = cli.error(*command.split(), code=1)
    assert "the database is older than this version of Headway" in told
    assert "run `headway migrate`, or start `headway serve`" in told
    assert older.pending_migrations() == pending


def test_migrate_names_the_steps_it_takes(cli: Cli, older: Database) -> None:
    pending = older.pending_migrations()
    assert cli.json("migrate")["applied"] == pending
    assert cli.json("jobs", "list")["items"] == []


def test_a_server_migrates_when_it_starts(cli: Cli, older: Database) -> None:
    with cli.start("serve", "--port", "0", "--json") as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert older.pending_migrations() == []
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)


def test_doctor_names_what_is_pending(cli: Cli, older: Database) -> None:
    findings = cli.json("doctor", code=1)["findings"]
    (ill,) = [one for one in findings if one["subject"] == "database"]
    assert "older than this version" in ill["detail"]
    assert older.pending_migrations()


def test_the_sdk_does_not_migrate(older: Database) -> None:
    pending = older.pending_migrations()
    with pytest.raises(errors.OutdatedSchema):
        headway.App(db=older.url).submit("any")
    assert older.pending_migrations() == pending


def test_a_backup_can_be_made_before(cli: Cli) -> None:
    older = local_wiring.open_database("sqlite:///.headway/headway.db", SystemClock())
    older.migrate(to=1)
    cli.call("backup", "saved.db")
    saved = local_wiring.open_database("sqlite:///saved.db", SystemClock())
    assert saved.pending_migrations() == older.pending_migrations() != []
