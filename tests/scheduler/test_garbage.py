"""Garbage collection: what ended long ago goes, what is referred to stays."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import keep_time, rewound, submit_all

from headway.domain import errors
from headway.domain.requests.job_requests import JobPatch
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.domain.workers import Abilities
from headway.files import log_files
from headway.scheduler.change import edit
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import direct, retention, stray_logs, verify
from headway.scheduler.upkeep.retention import Collected
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import schedules, workers

DAY = 86400.0


def test_a_count_says_what_would_go_and_changes_nothing(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    made = submit(scheduler, retry_policy={"max_attempts": 1, "base_delay_s": 0})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    would = retention.count(scheduler, DAY)
    assert would == Collected(jobs=2, runs=2), "a chain counts once, however its links ended"
    assert job(scheduler, made.number).status == JobStatus.FAILED
    assert retention.collect(scheduler, DAY) == would


def test_a_job_that_ended_long_ago_goes_with_all_that_belongs_to_it(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    made = submit(scheduler, params={"a": 1}, tags=["old"], produces=["custom:a:b"])
    (started,) = claim(scheduler)
    finish(scheduler, started)
    assert started.lease is not None
    folder = scheduler.data / log_files.folder(started.lease.lease_id)
    folder.mkdir(parents=True)
    (folder / "stdout.log").write_text("words")
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY) == Collected(jobs=1, runs=1)
    with pytest.raises(errors.NotFound):
        job(scheduler, made.number)
    assert not folder.exists()
    left = scheduler.store.read(
        lambda tx: [
            tx.select(f"SELECT count(*) AS n FROM {table}", {})[0]["n"]
            for table in ("jobs", "runs", "events", "tags", "needs", "produces", "dependencies")
        ]
    )
    assert set(left) == {0}
    payloads = scheduler.store.read(lambda tx: tx.select("SELECT payload_id FROM payloads", {}))
    assert [row["payload_id"] for row in payloads] == [0]
    assert verify.verify(scheduler) == []


def test_what_ended_lately_or_is_not_over_stays(scheduler: Scheduler, clock: MovableClock) -> None:
    submit_all(scheduler, {}, {})
    clock.move(2 * DAY)
    finish(scheduler, claim(scheduler))
    assert retention.collect(scheduler, DAY).jobs == 0


def test_a_chain_goes_as_a_whole(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(2 * DAY)
    keep_time(scheduler)
    assert retention.collect(scheduler, DAY).jobs == 0
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY).jobs == 2


def test_history_of_a_rewound_chain_stays_until_the_chain_goes(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler, params={"a": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, first.number)
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY).jobs == 0
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY).jobs == 2


def test_what_an_active_job_comes_after_stays(scheduler: Scheduler, clock: MovableClock) -> None:
    first, second = submit(scheduler), submit(scheduler)
    waiting = submit(scheduler, after=[first.number, second.number])
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY).jobs == 0
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler))
    assert job(scheduler, waiting.number).status is JobStatus.SUCCEEDED
    assert retention.collect(scheduler, DAY).jobs == 1


def test_who_made_what_an_active_job_needs_stays(scheduler: Scheduler, clock: MovableClock) -> None:
    maker = submit(scheduler, produces=["custom:a:b"])
    finish(scheduler, claim(scheduler))
    submit(scheduler, needs=["custom:a:b"], approval=True)
    submit(scheduler, needs=[f"job:{maker.job_id}"], approval=True)
    clock.move(2 * DAY)
    assert retention.collect(scheduler, DAY).jobs == 0


def test_many_jobs_go_in_steps(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    submit_all(scheduler, *({} for _ in range(35)))
    finish(scheduler, claim(scheduler, 35))
    clock.move(2 * DAY)
    heard: list[int] = []
    assert retention.collect(scheduler, DAY, heard.append).jobs == 35
    assert heard[-1] == 35
    assert {10, 20, 30} <= set(heard)


def count(scheduler: Scheduler, table: str) -> int:
    rows = scheduler.store.read(lambda tx: tx.select(f"SELECT count(*) AS n FROM {table}", {}))
    return int(rows[0]["n"])


def leave_records(scheduler: Scheduler, step: int) -> Path:
    """A direct request with logs, a slot that was given back, an event and a fire."""
    now = scheduler.clock.now()
    request_id = scheduler.new_id(now)
    folder = scheduler.data / log_files.folder(request_id)
    folder.mkdir(parents=True)

    def record(tx: Transaction) -> None:
        facts: dict[str, Any] = {"job_type": "write", "status": "COMPLETED", "waited_ms": 7}
        direct.record_request(tx, request_id=request_id, **facts)
        held = direct.reserve(scheduler, tx, "somebody", None)
        direct.release(scheduler, tx, held.reservation_id)
        schedules.take_fire(tx, f"schedule-{step % 2}", now)

    scheduler.store.write(record)
    return folder


def leave_logs(scheduler: Scheduler, name: str, age_s: float) -> Path:
    """A log folder that was last written to so long ago."""
    folder = scheduler.data / log_files.folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stdout.log").write_text("words")
    then = scheduler.clock.now().timestamp() - age_s
    for one in (folder, folder / "stdout.log"):
        os.utime(one, (then, then))
    return folder


def test_log_folders_without_an_owner_are_removed_once_nothing_writes_there(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_logs, "BATCH", 2)
    stray = [leave_logs(scheduler, f"stray-{number}", 2 * DAY) for number in range(5)]
    fresh = leave_logs(scheduler, "fresh", 2 * DAY)
    (fresh / "stdout.log").touch()
    submit(scheduler)
    (started,) = claim(scheduler)
    assert started.lease is not None
    silent = leave_logs(scheduler, started.lease.lease_id, 2 * DAY)
    other = scheduler.data / "logs" / "ab" / "notes"
    other.mkdir(parents=True)
    assert retention.collect(scheduler, DAY) == Collected(records=5)
    assert not any(folder.exists() for folder in stray)
    assert all(folder.exists() for folder in (fresh, silent, other))
    assert retention.collect(scheduler, DAY) == Collected()


def test_a_log_folder_of_the_last_hour_stays_whatever_is_asked(scheduler: Scheduler) -> None:
    folder = leave_logs(scheduler, "just-now", 1800)
    retention.collect(scheduler, 1)
    assert folder.exists()


def test_the_logs_of_a_direct_request_that_goes_on_stay(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    before = leave_logs(scheduler, "before", 60)
    held = scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "me", None))
    clock.move(1)
    going_on = leave_logs(scheduler, "going-on", 0)
    for _ in range(15):
        clock.move(300)
        scheduler.store.write(lambda tx: direct.renew(tx, held.reservation_id))
    retention.collect(scheduler, 1)
    assert (before.exists(), going_on.exists()) == (False, True)
    scheduler.store.write(lambda tx: direct.release(scheduler, tx, held.reservation_id))
    retention.collect(scheduler, 1)
    assert not going_on.exists()


def test_old_records_that_belong_to_no_job_go_in_steps_and_new_ones_stay(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    old = [leave_records(scheduler, step) for step in range(5) if clock.move(1)]
    clock.move(2 * DAY)
    new = leave_records(scheduler, 5)
    assert retention.collect(scheduler, DAY) == Collected(records=20)
    assert [folder.exists() for folder in (*old, new)] == [False] * 5 + [True]
    tables = ("direct_requests", "reservations", "events", "fires")
    assert [count(scheduler, table) for table in tables] == [1, 1, 1, 1]


def test_a_slot_that_is_held_and_fires_of_today_stay(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    scheduler.store.write(lambda tx: direct.reserve(scheduler, tx, "somebody", None))
    scheduler.store.write(lambda tx: schedules.take_fire(tx, "schedule", clock.now()))
    clock.move(60)
    assert retention.collect(scheduler, 1).records == 0


def test_params_that_were_changed_are_gone_unless_a_run_had_them(scheduler: Scheduler) -> None:
    def change(number: int, value: int) -> None:
        patch = JobPatch(params={"a": value})
        scheduler.store.write(lambda tx: edit.edit(scheduler, tx, number, patch))

    submit(scheduler, params={"a": 1})
    change(1, 2)
    assert count(scheduler, "payloads") == 2
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    change(2, 3)
    change(2, 4)
    assert count(scheduler, "payloads") == 3
    assert (job(scheduler, 1).params, job(scheduler, 2).params) == ({"a": 2}, {"a": 4})


def test_workers_that_fell_silent_long_ago_are_forgotten(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler)
    for worker_id in ("silent", "holder"):
        see(scheduler, worker_id)
    claim(scheduler, worker_id="holder")
    clock.move(2 * DAY)
    see(scheduler, "new")
    assert retention.collect(scheduler, DAY).records == 1
    known = scheduler.store.read(lambda tx: [row["worker_id"] for row in tx.rows("workers")])
    assert known == ["holder", "new"]


def see(scheduler: Scheduler, worker_id: str) -> None:
    """A worker elsewhere says that it is there."""
    scheduler.store.write(
        lambda tx: workers.see(
            tx,
            worker_id=worker_id,
            host="elsewhere",
            pid=1,
            process_started="",
            built_in=False,
            abilities=Abilities(),
            slots=1,
        )
    )
