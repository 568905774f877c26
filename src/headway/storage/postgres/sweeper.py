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
"""How many times longer than the last cleaning a table is left alone."""
REST_IN_VAIN_S = 5.0
"""How long at least if nothing could be removed, as beside an old transaction."""
LONGEST_STOP_S = 5.0

MOST_DEAD = {"leases": 1000, "jobs": 10_000}
# Only an owner may clean up; to others PostgreSQL would only write warnings into its log.
_DEAD = b"""
SELECT c.relname, s.n_dead_tup FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.oid IN (CAST('leases' AS regclass), CAST('jobs' AS regclass))
AND pg_has_role(c.relowner, 'USAGE')
"""
# A role's limit for statements is not meant for this, and would end each cleaning in vain.
_SETTINGS = b"SET statement_timeout = 0"
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
        """Stop, in the middle of a cleaning too; a server that hangs is not waited for."""
        self._stopped.set()
        self._written.set()
        give_up = time.monotonic() + LONGEST_STOP_S
        while self._thread.is_alive() and time.monotonic() < give_up:
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
            self._raw.execute(_SETTINGS)
        for table, dead in _dead_rows(self._raw).items():
            rests = time.monotonic() < self._rests_until.get(table, 0.0)
            if dead > MOST_DEAD[table] and not rests and not self._stopped.is_set():
                self._clean(self._raw, table, dead)

    def _clean(self, raw: RawConnection, table: str, dead: int) -> None:
        began = time.monotonic()
        in_vain = True
        try:
            raw.execute(CLEAN.format(table).encode())
            in_vain = _dead_rows(raw).get(table, dead) >= dead
        finally:
            now = time.monotonic()
            least_s = REST_IN_VAIN_S if in_vain else 0.0
            self._rests_until[table] = now + max(REST * (now - began), least_s)

    def _let_go(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None


def _dead_rows(raw: RawConnection) -> dict[str, int]:
    """How many dead rows the tables have that are ours to clean."""
    return dict(raw.execute(_DEAD).fetchall())
