"""A durable PostgreSQL of the benchmark's own, and an empty database for each figure."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from tests.postgres import OwnServer

OPTIONS = "-c shared_buffers=256MB -c max_wal_size=4GB"


@contextmanager
def server() -> Iterator[str]:
    """Start one; gives its URL."""
    directory = Path(tempfile.mkdtemp(prefix="headway-bench-pg-", dir="/tmp"))
    running = OwnServer(directory, OPTIONS)
    try:
        yield running.url
    finally:
        running.stop()
        shutil.rmtree(directory)


@contextmanager
def database(url: str) -> Iterator[str]:
    """An empty database on the server behind a URL."""
    name = f"bench_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
