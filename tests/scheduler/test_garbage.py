"""Garbage collection: what ended long ago goes, what is referred to stays."""

import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import keep_time, rewound, submit_all

from headway.domain import errors
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler import collect_garbage, verify
from headway.scheduler.collect_garbage import Collected
from headway.scheduler.scheduler import Scheduler
from headway.storage import log_files

DAY = 86400.0


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
    assert collect_garbage.collect(scheduler, DAY) == Collected(jobs=1, runs=1)
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
    assert collect_garbage.collect(scheduler, DAY).jobs == 0


def test_a_chain_goes_as_a_whole(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(2 * DAY)
    keep_time(scheduler)
    assert collect_garbage.collect(scheduler, DAY).jobs == 0
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    assert collect_garbage.collect(scheduler, DAY).jobs == 2


def test_history_of_a_rewound_chain_stays_until_the_chain_goes(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler, params={"a": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, first.number)
    clock.move(2 * DAY)
    assert collect_garbage.collect(scheduler, DAY).jobs == 0
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    assert collect_garbage.collect(scheduler, DAY).jobs == 2


def test_what_an_active_job_comes_after_stays(scheduler: Scheduler, clock: MovableClock) -> None:
    first, second = submit(scheduler), submit(scheduler)
    waiting = submit(scheduler, after=[first.number, second.number])
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    assert collect_garbage.collect(scheduler, DAY).jobs == 0
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler))
    assert job(scheduler, waiting.number).status is JobStatus.SUCCEEDED
    assert collect_garbage.collect(scheduler, DAY).jobs == 1


def test_who_made_what_an_active_job_needs_stays(scheduler: Scheduler, clock: MovableClock) -> None:
    maker = submit(scheduler, produces=["custom:a:b"])
    finish(scheduler, claim(scheduler))
    submit(scheduler, needs=["custom:a:b"], approval=True)
    submit(scheduler, needs=[f"job:{maker.job_id}"], approval=True)
    clock.move(2 * DAY)
    assert collect_garbage.collect(scheduler, DAY).jobs == 0


def test_many_jobs_go_in_steps(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_garbage, "BATCH", 10)
    submit_all(scheduler, *({} for _ in range(35)))
    finish(scheduler, claim(scheduler, 35))
    clock.move(2 * DAY)
    heard: list[int] = []
    assert collect_garbage.collect(scheduler, DAY, heard.append).jobs == 35
    assert heard[-1] == 35
    assert {10, 20, 30} <= set(heard)
