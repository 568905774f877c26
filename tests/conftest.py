"""What every test may use."""

from collections.abc import Callable

import psycopg
import pytest

from headway.clock import SystemClock
from headway.storage import queries
from headway.storage.postgres.database import PostgresDatabase
from headway.storage.postgres.statements import PACKAGE

pytest_plugins = ["tests.postgres"]

OTHERS = """
SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'schema_migrations'
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
        tables = [row[0] for row in connection.execute(TABLES)]
        steps = [f"DELETE FROM {table}" for table in tables]
        counters = ("events_seq_seq", "job_numbers", "positions", "payload_ids")
        steps += [f"ALTER SEQUENCE {counter} RESTART" for counter in counters]
        for _, _, text in queries.migrations(PACKAGE):
            steps += [line for line in text.splitlines() if line.startswith("INSERT INTO")]
        connection.execute(";".join(steps).encode())
    return migrated_postgres
