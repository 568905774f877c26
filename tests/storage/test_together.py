"""Many processes on one database: nothing is lost, nothing happens twice."""

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from tests.helpers import MovableClock, claim, finish, in_queue, submit
from tests.storage.conftest import OpenStore, open_database, scheduler_on

from headway.storage.engine.store import Store

Problems = SimpleQueue[str]

PROCESSES = 2
THREADS = 10
JOBS = 10


def test_what_many_processes_submit_at_once_is_all_there(store: Store, url: str) -> None:
    problems = _in_processes(_submit_much, url)
    assert problems == []
    found = in_queue(store)
    assert sorted(number for number, _ in found) == list(range(1, PROCESSES * THREADS * JOBS + 1))
    assert len({position for _, position in found}) == len(found)


def test_what_many_processes_claim_at_once_runs_once(
    store: Store, url: str, tmp_path: Path, clock: MovableClock
) -> None:
    scheduler = scheduler_on(store, clock, tmp_path)
    for _ in range(PROCESSES * JOBS):
        submit(scheduler)
    assert _in_processes(_run_much, url) == []
    runs = store.read(lambda tx: tx.select("SELECT job_number, status FROM runs", {}))
    assert sorted(row["job_number"] for row in runs) == list(range(1, PROCESSES * JOBS + 1))
    assert {row["status"] for row in runs} == {"COMPLETED"}


def test_two_stores_never_hand_out_the_same_job(
    open_store: OpenStore, tmp_path: Path, clock: MovableClock
) -> None:
    here, there = (scheduler_on(open_store(), clock, tmp_path) for _ in range(2))
    for _ in range(6):
        submit(here)
    claimed = [one.number for _ in range(3) for one in (*claim(here), *claim(there))]
    assert claimed == [1, 2, 3, 4, 5, 6]


def _in_processes(work: Callable[[str, Problems], None], url: str) -> list[str]:
    spawn = multiprocessing.get_context("spawn")
    problems = spawn.SimpleQueue()
    processes = [spawn.Process(target=work, args=(url, problems)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    found = []
    while not problems.empty():
        found.append(problems.get())
    return found


def _submit_much(url: str, problems: Problems) -> None:
    clock = MovableClock()
    store = Store(open_database(url, clock))
    scheduler = scheduler_on(store, clock, Path())

    def submit_some() -> None:
        try:
            for _ in range(JOBS):
                submit(scheduler)
        except Exception as error:
            problems.put(repr(error))

    threads = [threading.Thread(target=submit_some) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()


def _run_much(url: str, problems: Problems) -> None:
    clock = MovableClock()
    store = Store(open_database(url, clock))
    scheduler = scheduler_on(store, clock, Path())
    try:
        while started := claim(scheduler, 3):
            finish(scheduler, started)
    except Exception as error:
        problems.put(repr(error))
    store.close()
