"""Where plays are run: a store in memory, in a thread that may write by itself."""

import contextlib
import gc
import logging
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
from tests.postgres_tables import empty_tables
from tests.simulation.play import Played, play
from tests.simulation.storage import MemoryDatabase
from tests.simulation.world import Bed

from headway.storage.postgres.database import PostgresDatabase
from headway.testing import MovableClock


class Stage:
    """A bed and the thread in which it is used.

    The store lets every thread but the main one write by itself, so that a crash at a commit
    reaches who asked for it.
    """

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self._thread = ThreadPoolExecutor(1)

    def play(self, seed: int, only: Collection[int] | None = None) -> Played:
        """Play a seed, or some of its steps."""
        return self._thread.submit(play, self._bed, seed, only).result()

    def close(self) -> None:
        """Let go of the store."""
        self._thread.shutdown()
        self._bed.store.close()


def in_memory() -> Stage:
    """A stage on SQLite in memory."""
    clock = MovableClock()
    database = MemoryDatabase(clock)
    return Stage(Bed(database, clock, database.empty, database.changes))  # type: ignore[arg-type]


def on_postgres(url: str) -> Stage:
    """A stage on PostgreSQL, in a database that has the current schema."""
    clock = MovableClock()
    database = PostgresDatabase(url, clock)

    def empty() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            empty_tables(connection)

    return Stage(Bed(database, clock, empty))


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """A stage for some plays; what the product logs about planned failures is left out."""
    logger = logging.getLogger("headway")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    thresholds = gc.get_threshold()
    made = in_memory()
    _collect_rarely()
    try:
        yield made
    finally:
        made.close()
        gc.set_threshold(*thresholds)
        logger.setLevel(level)


def _collect_rarely() -> None:
    """Plays leave hardly a cycle: to look for some takes a thirtieth of the time."""
    gc.set_threshold(100_000, 50, 50)


_STAGES: list[Stage] = []


def prepare() -> None:
    """Make the stage of a process of a pool."""
    logging.getLogger("headway").setLevel(logging.CRITICAL)
    _STAGES.append(in_memory())
    _collect_rarely()


def play_one(seed: int) -> Played:
    """Play a seed in a process of a pool."""
    return _STAGES[0].play(seed)
