"""Cleaning up behind a busy queue, sooner than autovacuum comes.

A job that has started leaves a dead entry at the head of the queue's index, and a lease that is
over a dead row. Every claim goes past all of them. Autovacuum looks at a database once a minute,
and a minute can leave some hundred thousand.
"""

import contextlib
import logging
import threading
import time

import psycopg

from headway.storage.postgres.connection import RawConnection, connect, said

LOOK_EVERY_S = 0.5
REST = 20
"""How many times longer than the last cleaning a table is left alone: a cleaning may be in vain."""

MOST_DEAD = {"leases": 1000, "jobs": 10_000}
# Only an owner may clean up; to others PostgreSQL would only write warnings into its log.
_DEAD = b"""
SELECT c.relname, s.n_dead_tup FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.oid IN (CAST('leases' AS regclass), CAST('jobs' AS regclass))
AND pg_has_role(c.relowner, 'USAGE')
"""
CLEAN = "VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON, TRUNCATE OFF) {}"

log = logging.getLogger("headway.storage")


class Sweeper:
    """A thread that sleeps while nothing is written."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._raw: RawConnection | None = None
        self._rests_until: dict[str, float] = {}
        self._written = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headway-sweeper", daemon=True)
        self._thread.start()

    def poke(self) -> None:
        """Something was written."""
        if not self._written.is_set():
            self._written.set()

    def stop(self) -> None:
        """Stop, in the middle of a cleaning too."""
        self._stopped.set()
        self._written.set()
        while self._thread.is_alive():
            raw = self._raw
            if raw is not None:
                with contextlib.suppress(psycopg.Error):
                    raw.cancel_safe(timeout=1.0)
            self._thread.join(0.1)

    def _loop(self) -> None:
        while not self._stopped.is_set():
            self._written.wait()
            if self._stopped.wait(LOOK_EVERY_S):
                break
            self._written.clear()
            try:
                self._sweep()
            except psycopg.Error as error:
                log.debug("could not clean up: %s", said(error))
                self._let_go()
        self._let_go()

    def _sweep(self) -> None:
        if self._raw is None:
            self._raw = connect(self._url)
        for table, dead in self._raw.execute(_DEAD).fetchall():
            if dead > MOST_DEAD[table] and time.monotonic() > self._rests_until.get(table, 0.0):
                self._clean(self._raw, table)

    def _clean(self, raw: RawConnection, table: str) -> None:
        began = time.monotonic()
        try:
            raw.execute(CLEAN.format(table).encode())
        finally:
            now = time.monotonic()
            self._rests_until[table] = now + REST * (now - began)

    def _let_go(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None
