"""What every test may use."""

import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest

from headway.clock import SystemClock
from headway.storage.postgres.database import PostgresDatabase
from tests.postgres_tables import empty_tables

pytest_plugins = ["tests.postgres"]

OTHERS = """
SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(scope="session")
def migrated_postgres(fresh_database: Callable[[], str]) -> str:
    """A PostgreSQL database with the current schema."""
    url = fresh_database()
    PostgresDatabase(url, SystemClock()).migrate()
    return url


@pytest.fixture
def empty_postgres(migrated_postgres: str) -> str:
    """The same database for each test, emptied: that is much quicker than to make one."""
    with psycopg.connect(migrated_postgres, autocommit=True) as connection:
        connection.execute(OTHERS)
        empty_tables(connection)
    return migrated_postgres


class Guest:
    """A role without rights. Roles belong to the whole server, so each has its own name."""

    def __init__(self, url: str) -> None:
        self.role = f"guest_{uuid.uuid4().hex}"
        self.url = url.replace("//postgres@", f"//{self.role}@")
        self._admin = psycopg.connect(url, autocommit=True)
        self.admin("CREATE ROLE {guest} LOGIN")

    def admin(self, statement: str) -> None:
        """Run a statement as the owner; `{guest}` stands for the role."""
        self._admin.execute(statement.format(guest=self.role).encode())

    def close(self) -> None:
        """Forget the role."""
        self.admin("DROP OWNED BY {guest}; DROP ROLE {guest}")
        self._admin.close()


@pytest.fixture
def guest(empty_postgres: str) -> Iterator[Guest]:
    """A role without rights."""
    guest = Guest(empty_postgres)
    yield guest
    guest.close()
