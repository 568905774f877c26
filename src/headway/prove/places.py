"""Where it happens: a directory of its own, and on PostgreSQL a schema of its own."""

import contextlib
import os
import secrets
import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from headway.domain import errors

POSTGRES = ("postgresql", "postgres")
WAIT_S = 20.0
"""So long another process may be writing to the file."""


class Place:
    """A directory on the user's disk, with the store in it."""

    name = "SQLite"
    url: str | None = None

    def __init__(self, beside: Path) -> None:
        beside = beside.absolute()
        parent = beside if beside.is_dir() else beside.parent
        if not parent.is_dir():
            raise errors.InvalidRequest("--data", f"{parent} is not a folder")
        self.folder = Path(tempfile.mkdtemp(prefix="headway-prove-", dir=parent))

    @property
    def database(self) -> Path | None:
        """The file of the database, if it is a file."""
        return self.folder / "data" / "headway.db"

    @property
    def where(self) -> str:
        """What a person looks for who wants to see or remove it."""
        return str(self.folder)

    def execute(self, statement: str) -> None:
        """Run a statement in the store, beside the servers."""
        file = self.folder / "data" / "headway.db"
        with contextlib.closing(sqlite3.connect(file, timeout=WAIT_S)) as raw, raw:
            raw.execute(statement)

    def remove(self) -> None:
        """Remove everything that was made."""
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresPlace(Place):
    """The same with the jobs in a schema of its own; nothing else in that database is touched."""

    name = "PostgreSQL"

    def __init__(self, beside: Path, url: str) -> None:
        self._url = url
        self.schema = f"headway_prove_{secrets.token_hex(4)}"
        self._execute(f"CREATE SCHEMA {self.schema}")
        super().__init__(beside)
        self.url = with_search_path(url, self.schema)

    @property
    def database(self) -> None:
        """The files are those of the PostgreSQL server."""

    @property
    def where(self) -> str:
        """The directory and the schema."""
        return f"{self.folder} and the schema {self.schema}"

    def remove(self) -> None:
        """Drop the schema and remove the directory."""
        self._execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        super().remove()

    def execute(self, statement: str) -> None:
        """Run a statement in the schema."""
        self._execute(f"SET search_path = {self.schema}; {statement}")

    def _execute(self, statement: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise errors.Unavailable(
                f"PostgreSQL needs: pip install 'headway[postgres]' ({error})"
            ) from None
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute(statement.encode())
        except psycopg.Error as error:
            raise errors.Unavailable(str(error).strip()) from error


def choose(data: Path, db: str | None) -> Place:
    """A new place on the disk or in the database that the settings name."""
    if db is not None and urlsplit(db).scheme in POSTGRES:
        return PostgresPlace(data, db)
    if db is not None and db.startswith("sqlite:///"):
        return Place(Path(db.removeprefix("sqlite:///")).parent)
    if db is not None:
        # What was given is not repeated: it may hold a password.
        raise errors.InvalidRequest("db", "is neither sqlite:///FILE nor postgresql://…")
    return Place(data)


def with_search_path(url: str, schema: str) -> str:
    """The URL of a database with connection options that lead to this schema alone."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    query["options"] = f"{query.get('options', '')} -c search_path={schema}".strip()
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


def environment(place: Place) -> dict[str, str]:
    """The environment of every process: none of the user's own settings of Headway."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY_")}
    if place.url is not None:
        kept["HEADWAY_DB"] = place.url
    return kept
