"""Salvage: real files are damaged in every way; what can still be read is saved, and no more."""

import contextlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish, submit
from tests.storage.conftest import scheduler_on

from headway.domain.runs import RunStatus
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import salvage as restoring
from headway.scheduler.upkeep import verify
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase
from headway.storage.sqlite.salvage import salvage as salvaging
from headway.storage.sqlite.salvage.salvage import TABLES, Saved

PAGE = 4096
JOBS = 400

Rows = dict[str, set[tuple[Any, ...]]]


@pytest.fixture
def clock() -> MovableClock:
    """Noon of 2 March 2026, a Monday."""
    return MovableClock()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with jobs in every state, large and small params, and a log that was not merged."""
    folder = tmp_path_factory.mktemp("sound")
    database = SqliteDatabase(folder / "headway.db", MovableClock(), durable=False)
    database.migrate()
    store = Store(database)
    scheduler = scheduler_on(store, MovableClock(), folder)
    _work(scheduler, JOBS)
    with sqlite3.connect(database.path) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _work(scheduler, 20)
    for ending in ("", "-wal"):  # as they are while a server runs
        (folder / f"copy.db{ending}").write_bytes((folder / f"headway.db{ending}").read_bytes())
    store.close()
    return folder / "copy.db"


def _work(scheduler: Scheduler, count: int) -> None:
    for number in range(count):
        submit(
            scheduler,
            params={"text": "x" * (20_000 if number % 40 == 0 else number % 900)},
            tags=["all", f"t{number % 7}"],
            queue=f"q{number % 5}",
            priority=number % 3,
            retry_policy={"max_attempts": 1},
        )
        if number % 2:
            finish(
                scheduler,
                claim(scheduler),
                RunStatus.FAILED if number % 10 == 1 else RunStatus.COMPLETED,
            )
    submit(scheduler, locks=["gpu"], priority=100)
    claim(scheduler)
    submit(scheduler, locks=["gpu"], priority=99)
    submit(scheduler, after=[2], needs=["custom:a:b"], produces=["custom:c:d"], approval=True)


@pytest.fixture
def damaged(sound: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    for ending in ("", "-wal"):
        copy = tmp_path / f"headway.db{ending}"
        copy.write_bytes(sound.with_name(sound.name + ending).read_bytes())
    return tmp_path / "headway.db"


def rows(file: Path) -> Rows:
    """All rows of all tables, of a copy: to open a file may change it."""
    beside = file.with_name("look.db")
    for ending in ("", "-wal"):
        part = file.with_name(file.name + ending)
        if part.exists():
            beside.with_name(f"look.db{ending}").write_bytes(part.read_bytes())
    with contextlib.closing(sqlite3.connect(beside)) as raw:
        found = {name: set(raw.execute(f"SELECT * FROM {name}")) for name in TABLES}
    for ending in ("", "-wal", "-shm"):
        beside.with_name(f"look.db{ending}").unlink(missing_ok=True)
    return found


def salvage(source: Path) -> tuple[dict[str, Saved], Rows, Path]:
    """Salvage into a new file; the report, and the rows as they were saved."""
    target = source.with_name("saved.db")
    SqliteDatabase(target, MovableClock(), durable=False).migrate()
    report = salvaging.salvage(source, target, lambda done, total: None)
    return report, rows(target), target


def restored(target: Path, clock: MovableClock) -> Scheduler:
    """The store that was saved, mended."""
    scheduler = scheduler_on(
        Store(SqliteDatabase(target, clock, durable=False)), clock, target.parent
    )
    assert restoring.restore(scheduler).left == []
    assert verify.verify(scheduler) == []
    return scheduler


def drain(scheduler: Scheduler) -> None:
    """The store serves: a new job is taken, and everything that may start ends."""
    new = submit(scheduler, priority=1000)
    lease = claim(scheduler)
    assert lease is not None
    finish(scheduler, lease)
    assert new.number > JOBS
    assert verify.verify(scheduler) == []
    scheduler.store.close()


def pages_of(file: Path, name: str) -> list[int]:
    """The pages of a table or an index, by the statistics that SQLite has of them."""
    copy = file.with_name("pages.db")
    for ending in ("", "-wal"):
        copy.with_name(f"pages.db{ending}").write_bytes(
            file.with_name(file.name + ending).read_bytes()
        )
    with contextlib.closing(sqlite3.connect(copy)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT pageno FROM dbstat WHERE name = ? ORDER BY pageno"
        return [number for (number,) in raw.execute(query, (name,))]


def overwrite(file: Path, page: int, content: bytes) -> None:
    """Overwrite a page in the file and in every frame of the log that has it."""
    with file.open("r+b") as raw:
        raw.seek((page - 1) * PAGE)
        raw.write(content)
    log = file.with_name(f"{file.name}-wal")
    data = bytearray(log.read_bytes())
    for at in range(32, len(data), 24 + PAGE):
        if int.from_bytes(data[at : at + 4], "big") == page:
            data[at + 24 : at + 24 + PAGE] = content
    log.write_bytes(data)


def garbage(_: int) -> bytes:
    """A page of noise."""
    return random.Random(1).randbytes(PAGE)


def zeros(_: int) -> bytes:
    """A page that a disk lost."""
    return bytes(PAGE)


def test_a_sound_file_is_saved_as_it_is(damaged: Path, clock: MovableClock) -> None:
    before, content = rows(damaged), damaged.read_bytes()
    report, saved, target = salvage(damaged)
    assert saved == before
    assert all(one.is_whole for one in report.values())
    assert damaged.read_bytes() == content
    drain(restored(target, clock))


@pytest.mark.parametrize("content", [zeros, garbage])
@pytest.mark.parametrize("table", ["jobs", "payloads", "events", "runs", "lanes", "leases", "tags"])
def test_a_page_of_a_table_costs_its_rows_alone(
    damaged: Path, clock: MovableClock, table: str, content: Callable[[int], bytes]
) -> None:
    before = rows(damaged)
    pages = pages_of(damaged, table)
    overwrite(damaged, pages[len(pages) // 2], content(0))
    report, saved, target = salvage(damaged)
    for name in TABLES:
        if name not in (table, "lanes"):
            assert saved[name] == before[name], name
    assert saved[table] <= before[table] or table == "lanes"
    lost = len(before[table]) - len(saved[table])
    if len(pages) > 1:
        assert lost <= PAGE // 8
    assert report[table].lost in (None, lost) or table == "payloads"
    drain(restored(target, clock))


@pytest.mark.parametrize("table", ["jobs", "events", "payloads", "runs"])
def test_a_table_without_its_root_is_found_by_its_pages(
    damaged: Path, clock: MovableClock, table: str
) -> None:
    before = rows(damaged)
    with contextlib.closing(sqlite3.connect(damaged)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = raw.execute(query, (table,)).fetchone()
    damaged.with_name(f"{damaged.name}-wal").write_bytes(b"")
    overwrite(damaged, root, bytes(PAGE))
    _, saved, target = salvage(damaged)
    # A tree of rows has none in its root; a tree of keys, as `runs` is, has a few.
    assert len(before[table]) - len(saved[table]) <= (PAGE // 100 if table == "runs" else 0)
    assert saved[table] <= before[table]
    drain(restored(target, clock))


def test_the_first_page_may_be_gone(damaged: Path, clock: MovableClock) -> None:
    before = rows(damaged)
    overwrite(damaged, 1, bytes(PAGE))
    _, saved, target = salvage(damaged)
    for table in ("jobs", "payloads", "events", "runs"):
        assert saved[table] == before[table], table
    drain(restored(target, clock))


def test_damaged_indexes_cost_nothing(damaged: Path) -> None:
    before = rows(damaged)
    for index in ("jobs_ready", "jobs_in_queue_order", "runs_by_job", "events_by_job"):
        for page in pages_of(damaged, index):
            overwrite(damaged, page, garbage(0))
    report, saved, _ = salvage(damaged)
    assert saved == before
    assert all(one.is_whole for one in report.values())


def test_without_the_indexes_it_is_not_known_what_is_lost(damaged: Path) -> None:
    for name in ("jobs", "sqlite_autoindex_jobs_1", "jobs_active"):
        overwrite(damaged, pages_of(damaged, name)[0], bytes(PAGE))
    report, saved, _ = salvage(damaged)
    assert report["jobs"].lost is None
    assert report["jobs"].saved == len(saved["jobs"]) > JOBS // 2


def test_a_file_that_was_cut_keeps_its_first_part(damaged: Path, clock: MovableClock) -> None:
    before = rows(damaged)
    with damaged.open("r+b") as raw:
        raw.truncate(damaged.stat().st_size // 2 + 100)
    _, saved, target = salvage(damaged)
    assert all(saved[name] <= before[name] for name in ("jobs", "runs", "events"))
    assert sum(map(len, saved.values())) > sum(map(len, before.values())) // 4
    drain(restored(target, clock))


def test_a_frame_of_the_log_costs_its_page_alone(damaged: Path, clock: MovableClock) -> None:
    before = rows(damaged)
    log = damaged.with_name(f"{damaged.name}-wal")
    data = bytearray(log.read_bytes())
    frames = (len(data) - 32) // (24 + PAGE)
    at = 32 + frames // 2 * (24 + PAGE)
    data[at + 24 + 50] ^= 0xFF
    log.write_bytes(data)
    _, saved, target = salvage(damaged)
    kept = sum(len(saved[name] & before[name]) for name in TABLES)
    assert sum(map(len, before.values())) - kept <= 2 * PAGE // 8
    newest = max(number for number, *_ in before["jobs"])
    assert max(number for number, *_ in saved["jobs"]) == newest, (
        "what SQLite would ignore is saved"
    )
    drain(restored(target, clock))


def test_what_is_committed_in_the_log_alone_is_saved(sound: Path, damaged: Path) -> None:
    before = rows(sound)
    log = damaged.with_name(f"{damaged.name}-wal")
    data = log.read_bytes()
    log.write_bytes(data + data[-(24 + PAGE) :])  # a frame whose checksum cannot be right
    _, saved, _ = salvage(damaged)
    assert saved == before


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_flipped_what_is_saved_was_there(
    damaged: Path, clock: MovableClock, seed: int
) -> None:
    chance = random.Random(seed)
    before = rows(damaged)
    count = damaged.stat().st_size // PAGE
    for page in chance.sample(range(1, count + 1), 4):
        overwrite(damaged, page, chance.choice([zeros, garbage])(page))
    _, saved, target = salvage(damaged)
    for name in TABLES:
        if name not in ("counters", "limits", "payloads", "lanes"):  # a new store has some
            assert saved[name] <= before[name], name
    drain(restored(target, clock))
