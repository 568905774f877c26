"""An acknowledged write is on disk: the setting it rests on, and the sync before each answer."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import MovableClock

from headway.domain import errors
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import Transaction
from headway.storage.sqlite.database import SqliteDatabase

FULL = 2
WRITES = 5
SYNCED = r"sync\(\d+<[^>]*/headway\.db-wal>\) += 0|sync resumed>\) += 0"

WRITE = """
import os, sys
from headway import local_wiring
from headway.settings import Settings

store = local_wiring.open_store(Settings(data=sys.argv[1]))
for number in range(int(sys.argv[2])):
    os.write(1, b"asked")
    store.write(lambda tx: tx.do("put_fact", name="x", value=str(number)))
    os.write(1, b"acknowledged")
store.close()
"""


def put(store: Store) -> int:
    return store.write(lambda tx: tx.do("put_fact", name="x", value="x"))


def test_every_transaction_that_writes_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []

    class Watched(sqlite3.Connection):
        """Notes the setting with which each writing transaction begins."""

        def execute(self, sql: str, *params: Any) -> sqlite3.Cursor:
            if sql == "BEGIN IMMEDIATE":
                (setting,) = super().execute("PRAGMA synchronous").fetchone()
                begun.append((id(self), setting))
            return super().execute(sql, *params)

    def lose_the_connection(tx: Transaction) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    database = SqliteDatabase(tmp_path / "headway.db", MovableClock())
    database.migrate()
    migrating = {connection for connection, _ in begun}
    with contextlib.closing(Store(database)) as store:
        put(store)
        with pytest.raises(errors.Unavailable):
            store.write(lose_the_connection)
        before = begun[-1]
        put(store)
        assert begun[-1][0] != before[0], "the lost connection is used again"
    assert migrating
    assert {setting for _, setting in begun} == {FULL}


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_log_is_synced_before_each_acknowledgement(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    calls = "trace=write,fsync,fdatasync"
    program = [sys.executable, "-c", WRITE, str(tmp_path / "data"), str(WRITES)]
    done = subprocess.run(
        ["strace", "-f", "-y", "-e", calls, "-o", str(trace), *program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    if "ptrace" in done.stderr:
        pytest.skip(f"processes may not be traced here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    told = trace.read_text().split('"asked"')[1:]
    assert len(told) == WRITES
    for one in told:
        before, acknowledged, _ = one.partition('"acknowledged"')
        assert acknowledged
        assert re.search(SYNCED, before), before
