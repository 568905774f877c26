"""A PostgreSQL that cannot be worked with: commands say what is to be done, in a sentence."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.cli.conftest import Cli
from tests.conftest import Guest
from tests.pooler import Pooler

from headway.storage.postgres import database

TABLES = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {guest}"
SEQUENCES = "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO {guest}"
READ_ONLY = "ALTER ROLE {guest} SET default_transaction_read_only = on"
CASES = {
    "no rights": ([], "GRANT SELECT"),
    "only to read": (["GRANT SELECT ON ALL TABLES IN SCHEMA public TO {guest}"], "GRANT SELECT"),
    "no sequences": ([TABLES], "ON ALL SEQUENCES"),
    "read-only": ([TABLES, SEQUENCES, READ_ONLY], "default_transaction_read_only off"),
}
COMMANDS = (("submit", "work"), ("doctor",), ("serve", "--port", "0"))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_role_that_may_not_work_is_told_what_it_needs(
    cli: Cli, guest: Guest, case: str, command: tuple[str, ...]
) -> None:
    steps, advice = CASES[case]
    for step in steps:
        guest.admin(step)
    told = cli.call(*command, "--db", guest.url, code=1)
    assert advice in " ".join((told.stdout + told.stderr).split())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_old_postgresql_is_refused(
    cli: Cli, empty_postgres: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "OLDEST_SERVER", 99)
    told = cli.call(*command, "--db", empty_postgres, code=1)
    assert "use PostgreSQL 99 or newer" in " ".join((told.stdout + told.stderr).split())


def test_doctor_names_a_server_that_does_not_sync(cli: Cli, empty_postgres: str) -> None:
    (ill,) = [
        one
        for one in cli.json("doctor", "--db", empty_postgres, code=1)["findings"]
        if not one["ok"]
    ]
    assert (ill["subject"], "fsync = off" in ill["detail"]) == ("database", True)


@pytest.fixture
def pooled(empty_postgres: str) -> Iterator[str]:
    """The URL of a database behind a pooler that gives nobody a session of his own."""
    known = conninfo_to_dict(empty_postgres)
    folder = Path(tempfile.mkdtemp(prefix="headway-pooler-", dir="/tmp"))
    pooler = Pooler(folder, Path(str(known["host"])), str(known["dbname"]))
    yield f"postgresql://postgres@/{known['dbname']}?host={folder}"
    pooler.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize("command", [*COMMANDS, ("migrate",)], ids=" ".join)
def test_a_pooler_that_shares_sessions_is_refused(
    cli: Cli, pooled: str, command: tuple[str, ...]
) -> None:
    told = cli.call(*command, "--db", pooled, code=1)
    assert "pool_mode = session" in told.stdout + told.stderr


@pytest.mark.parametrize("command", [("jobs", "list"), ("submit", "work")])
def test_when_its_server_was_killed_nothing_is_looked_up_or_stored_in_another_place(
    cli: Cli, empty_postgres: str, command: tuple[str, ...]
) -> None:
    with cli.start("serve", "--port", "0", "--json", "--db", empty_postgres) as server:
        assert server.stdout is not None
        server.stdout.readline()
        cli.call(*command)
        server.kill()
    told = cli.error(*command, code=1)
    assert "is gone, and its database is elsewhere" in told
    assert "--db URL" in told
    assert not (cli.folder / ".headway" / "headway.db").exists()
    cli.call(*command, "--db", empty_postgres)
