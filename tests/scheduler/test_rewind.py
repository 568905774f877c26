"""Rewind: a job and all that lies downstream start afresh."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pygit2
import pytest
from tests.helpers import MovableClock, claim, event_kinds, finish, job, runs_of, submit
from tests.scheduler.asking import keep_time, rewound, show, submit_all, watch_queries

from headway.domain import errors, events
from headway.domain.answers import RewindReport
from headway.domain.manage.tokens import Role
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.change import approvals, cancel, rewind
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify
from headway.storage import events as stored_events
from headway.storage.engine.transaction import Transaction

ONCE = {"max_attempts": 0}


def test_a_failed_job_and_what_it_blocked_start_afresh(scheduler: Scheduler) -> None:
    #  fine -> failing -> blocked -> last
    fine = submit(scheduler)
    failing = submit(scheduler, after=[fine.number], retry_policy=ONCE)
    blocked = submit(scheduler, after=[failing.number])
    last = submit(scheduler, after=[blocked.number])
    beside = submit(scheduler, "beside")
    finish(scheduler, claim(scheduler, job_types=("work",)))
    finish(scheduler, claim(scheduler, job_types=("work",)), RunStatus.FAILED, exit_code=3)
    assert job(scheduler, last.number).status is JobStatus.BLOCKED_BY_DEPENDENCY
    report = rewound(scheduler, failing.number)
    assert report.requested_job == report.retry_root == failing.job_id
    assert report.last_successful_point == (fine.job_id,)
    assert report.retry_set == (failing.job_id, blocked.job_id, last.job_id)
    assert report.restarted == (failing.job_id,)
    again = job(scheduler, failing.number)
    assert (again.status, again.generation, again.exit_code) == (JobStatus.QUEUED, 2, None)
    assert (again.started_at, again.finished_at, again.waited_on) == (None, None, ())
    assert job(scheduler, last.number).status is JobStatus.WAITING_ON_DEPS
    assert job(scheduler, beside.number).generation == 1
    assert job(scheduler, fine.number).status is JobStatus.SUCCEEDED
    assert event_kinds(scheduler).count(events.REWOUND) == 3
    for _ in range(3):
        finish(scheduler, claim(scheduler, job_types=("work",)))
    assert job(scheduler, last.number).status is JobStatus.SUCCEEDED
    assert verify.verify(scheduler) == []


def test_a_preview_names_what_would_be_reset_and_changes_nothing(scheduler: Scheduler) -> None:
    failing = submit(scheduler, retry_policy=ONCE)
    blocked = submit(scheduler, after=[failing.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    kinds = event_kinds(scheduler)
    report = preview(scheduler, failing.number)
    assert (report.reset, report.restarted) == ((failing.job_id, blocked.job_id), ())
    assert job(scheduler, failing.number).status is JobStatus.FAILED
    assert event_kinds(scheduler) == kinds
    assert report.reset == rewound(scheduler, failing.number).reset
    claim(scheduler)
    with pytest.raises(errors.RewindRefused):
        preview(scheduler, failing.number)


def preview(scheduler: Scheduler, number: int) -> RewindReport:
    return scheduler.store.read(
        lambda tx: rewind.preview(scheduler, tx, number, force=False, role=Role.ADMIN)
    )


def test_old_runs_stay_as_history_of_their_generation(scheduler: Scheduler) -> None:
    made = submit(scheduler, retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, made.number)
    finish(scheduler, claim(scheduler))
    found = runs_of(scheduler, made.number)
    assert [(run.generation, run.status) for run in found] == [(2, "COMPLETED"), (1, "FAILED")]


def test_a_chain_is_rewound_to_its_first_job_and_its_retries_become_history(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    first = submit(scheduler, unique_key="nightly")
    later = submit(scheduler, after=[first.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(10)
    keep_time(scheduler)
    (retry,) = claim(scheduler)
    finish(scheduler, retry, RunStatus.FAILED)
    pending = retry.number + 1
    report = rewound(scheduler, retry.number)
    assert (report.requested_job, report.retry_root) == (retry.job_id, first.job_id)
    ended = job(scheduler, pending)
    assert ended.status is JobStatus.CANCELLED
    assert ended.wait_reason is not None
    assert ended.wait_reason.kind == "rewound"
    assert job(scheduler, retry.number).status is JobStatus.FAILED
    assert job(scheduler, retry.number).retry_of == first.job_id
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert job(scheduler, later.number).status is JobStatus.WAITING_ON_DEPS
    clock.move(10)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [later.number]
    assert verify.verify(scheduler) == []


def test_a_retry_that_is_history_leads_back_to_the_first_job(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, first.number)
    report = rewound(scheduler, first.number + 1)
    assert report.retry_root == first.job_id
    assert job(scheduler, first.number).generation == 3


def test_nothing_is_rewound_while_a_member_runs(scheduler: Scheduler) -> None:
    root = submit(scheduler, retry_policy=ONCE)
    follower = submit(scheduler, after=[{"job": root.number, "policy": "finished"}])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    claim(scheduler)
    expected = f"cannot retry while jobs are running in the retry set: {follower.job_id} (running)"
    with pytest.raises(errors.RewindRefused) as refusal:
        rewound(scheduler, root.number)
    assert refusal.value.detail == expected
    assert job(scheduler, root.number).generation == 1


def test_a_success_is_rewound_by_force_only(scheduler: Scheduler) -> None:
    made = submit(scheduler)
    finish(scheduler, claim(scheduler))
    with pytest.raises(errors.RewindRefused):
        rewound(scheduler, made.number)
    rewound(scheduler, made.number, force=True)
    assert job(scheduler, made.number).status is JobStatus.QUEUED


def test_who_needs_what_was_made_is_downstream_and_markers_are_removed(
    scheduler: Scheduler,
) -> None:
    maker = submit(scheduler, produces=["custom:model:big"])
    user = submit(scheduler, needs=["custom:model:big"])
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler))
    report = rewound(scheduler, maker.number, force=True)
    assert report.retry_set == (maker.job_id, user.job_id)
    waiting = job(scheduler, user.number)
    assert waiting.status is JobStatus.WAITING_ON_DEPS
    assert waiting.wait_reason is not None
    assert waiting.wait_reason.detail == "waiting on custom:model:big"
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [user.number]


def test_approval_is_asked_for_again(scheduler: Scheduler) -> None:
    made = submit(scheduler, approval=True)
    scheduler.store.write(lambda tx: approvals.reject(scheduler, tx, made.number, actor="ann"))
    rewound(scheduler, made.number)
    assert show(scheduler, made.number).status is JobStatus.WAITING_ON_APPROVAL


def test_a_unique_key_that_is_in_use_is_not_taken(scheduler: Scheduler) -> None:
    made = submit(scheduler, unique_key="only", retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    submit(scheduler, unique_key="only")
    with pytest.raises(errors.RewindRefused, match="unique key 'only'"):
        rewound(scheduler, made.number)


def test_a_cancelled_job_that_waits_for_locks_comes_back_into_line(scheduler: Scheduler) -> None:
    submit(scheduler, locks=["gpu"])
    claim(scheduler)
    waiter = submit(scheduler, locks=["gpu"])
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, waiter.number))
    rewound(scheduler, waiter.number)
    assert job(scheduler, waiter.number).status is JobStatus.WAITING_ON_LOCKS
    rewound(scheduler, waiter.number)
    assert job(scheduler, waiter.number).generation == 3
    assert verify.verify(scheduler) == []


def merging(workspace: Path) -> Path:
    """A repository in the middle of a merge."""
    pygit2.init_repository(str(workspace))
    (workspace / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    return workspace / ".git" / "MERGE_HEAD"


def test_sentinels_are_cleared_unless_a_merge_is_under_way(scheduler: Scheduler) -> None:
    workspace = scheduler.workspace.root
    sentinel = workspace / ".headway/merge-conflicts/plan.json"
    sentinel.parent.mkdir(parents=True)
    sentinel.write_text("{}")
    made = submit(scheduler, produces=["merge_sentinel:plan"], retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    head = merging(workspace)
    with pytest.raises(errors.RewindRefused, match="git merge --abort"):
        rewound(scheduler, made.number)
    assert sentinel.exists()
    head.unlink()
    rewound(scheduler, made.number)
    assert not sentinel.exists()


@pytest.mark.parametrize("failures", [0, 1])
def test_a_forced_rewind_inside_its_own_dedup_window_runs_again(
    scheduler: Scheduler, clock: MovableClock, failures: int
) -> None:
    wanted: dict[str, Any] = {"dedup_key": "report", "dedup_window_s": 3600}
    made = submit(scheduler, **wanted)
    for _ in range(failures):
        finish(scheduler, claim(scheduler), RunStatus.FAILED)
        clock.move(10)
        keep_time(scheduler)
    finish(scheduler, claim(scheduler))
    rewound(scheduler, made.number, force=True)
    assert [one.number for one in claim(scheduler)] == [made.number]


def test_another_job_that_succeeded_inside_the_window_still_counts(scheduler: Scheduler) -> None:
    wanted: dict[str, Any] = {"dedup_key": "report", "dedup_window_s": 3600}
    first = submit(scheduler, **wanted)
    finish(scheduler, claim(scheduler))
    second = submit(scheduler, **wanted)
    assert claim(scheduler) == []
    assert job(scheduler, second.number).status is JobStatus.SKIPPED
    rewound(scheduler, second.number, force=True)
    assert claim(scheduler) == []
    assert job(scheduler, first.number).status is JobStatus.SUCCEEDED


def test_who_needs_a_try_that_a_rewind_made_history_follows_its_chain(
    scheduler: Scheduler,
) -> None:
    submit(scheduler, retry_policy={"max_attempts": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    user = submit(scheduler, needs=["job:2"])
    rewound(scheduler, 1)
    assert show(scheduler, user.number).status is JobStatus.WAITING_ON_DEPS
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [user.number]


def test_and_starts_afresh_with_it(scheduler: Scheduler) -> None:
    submit(scheduler, retry_policy={"max_attempts": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, 1)
    user = submit(scheduler, needs=["job:2"])
    assert rewound(scheduler, 1).retry_set[-1] == user.job_id


def test_of_a_sentinel_that_is_a_link_only_the_link_is_removed(scheduler: Scheduler) -> None:
    workspace = scheduler.workspace.root
    sentinels = workspace / ".headway/merge-conflicts"
    sentinels.mkdir(parents=True)
    for name in ("mine.txt", "other.json"):
        (workspace / name).write_text("mine")
    (sentinels / "link.json").symlink_to(workspace / "mine.txt")
    (sentinels / "lost.json").symlink_to("nowhere")
    (sentinels / "away").symlink_to(workspace)
    names = [f"merge_sentinel:{name}" for name in ("link", "lost", "away/other")]
    submit(scheduler, produces=names, retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, 1)
    assert [one.name for one in sentinels.iterdir()] == ["away"]
    assert {one.name for one in workspace.iterdir()} == {".headway", "mine.txt", "other.json"}


def test_a_sentinel_that_cannot_be_removed_refuses_the_whole(scheduler: Scheduler) -> None:
    submit(scheduler, produces=["merge_sentinel:foo"], retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    (scheduler.workspace.root / ".headway/merge-conflicts/foo.json").mkdir(parents=True)
    with pytest.raises(errors.RewindRefused, match="cannot remove"):
        rewound(scheduler, 1)
    assert (show(scheduler, 1).status, show(scheduler, 1).generation) == (JobStatus.FAILED, 1)


def test_what_an_earlier_rewind_made_history_is_no_successful_point(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    maker = submit(
        scheduler, produces=["custom:m:a"], retry_policy={"max_attempts": 1, "base_delay_s": 1}
    )
    user = submit(scheduler, needs=["custom:m:a"], retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(2)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    rewound(scheduler, maker.number, force=True)
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert rewound(scheduler, user.number).last_successful_point == (maker.job_id,)


def test_a_rewind_removes_the_patch_of_the_last_try(scheduler: Scheduler) -> None:
    asked = submit(scheduler, retry_policy=ONCE)
    user = submit(scheduler, needs=[f"ask_save_patch:{asked.number}"], retry_policy=ONCE)
    patch = scheduler.workspace.root / ".headway" / "patches" / f"{asked.number}.patch"
    patch.parent.mkdir(parents=True)
    patch.write_text("half of it")
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    report = rewound(scheduler, asked.number)
    assert not patch.exists()
    assert report.restarted == (asked.job_id,)
    assert job(scheduler, user.number).status is JobStatus.WAITING_ON_DEPS


def test_a_rewind_takes_as_many_statements_for_a_long_chain_as_for_a_short_one(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for length in (3, 60):
        chain = submit_all(scheduler, *links(length))
        scheduler.store.write(partial(stop, scheduler, chain[0]))
        assert job(scheduler, chain[-1]).status is JobStatus.BLOCKED_BY_DEPENDENCY
        with monkeypatch.context() as patch:
            asked = watch_queries(patch)
            assert len(rewound(scheduler, chain[0]).reset) == length
        counts.append(asked)
    assert counts[0] == counts[1]


def stop(scheduler: Scheduler, number: int, tx: Transaction) -> None:
    """Cancel a job."""
    cancel.cancel(scheduler, tx, number)


def links(length: int) -> list[dict[str, Any]]:
    """Jobs that come one after the other."""
    return [{"ref": str(n), "after": [f"ref:{n - 1}"] if n else []} for n in range(length)]


def test_members_behind_others_wait_at_once_and_are_said_to(scheduler: Scheduler) -> None:
    first, second, third = submit_all(scheduler, *links(3))
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, first))
    rewound(scheduler, first)
    for number, before in ((second, first), (third, second)):
        shown = show(scheduler, number)
        assert shown.status is JobStatus.WAITING_ON_DEPS
        assert shown.wait_reason is not None
        expected = f"waiting on job {show(scheduler, before).job_id}"
        assert shown.wait_reason.detail == expected
        assert shown.waited_on == ("dependencies",)
    told = scheduler.store.read(lambda tx: stored_events.after(tx, 0, 1000))
    waiting = [one for one in told if one.kind == events.WAITING and one.job_id is not None]
    assert [one.data["kind"] for one in waiting[-2:] if one.data] == ["dependencies"] * 2


def test_a_member_behind_a_failure_outside_the_set_is_blocked_again(scheduler: Scheduler) -> None:
    outside = submit(scheduler, retry_policy=ONCE)
    root = submit(scheduler)
    both = submit(scheduler, after=[outside.number, root.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    report = rewound(scheduler, root.number)
    assert report.retry_set == (root.job_id, both.job_id)
    assert report.restarted == (root.job_id,)
    assert job(scheduler, both.number).status is JobStatus.BLOCKED_BY_DEPENDENCY
    assert verify.verify(scheduler) == []


def test_a_sentinel_that_another_job_made_stays(scheduler: Scheduler) -> None:
    sentinel = scheduler.workspace.root / ".headway/merge-conflicts/theirs.json"
    sentinel.parent.mkdir(parents=True)
    sentinel.write_text("{}")
    for _ in range(2):
        submit(scheduler, produces=["merge_sentinel:theirs"], retry_policy=ONCE)
        finish(scheduler, claim(scheduler))
    rewound(scheduler, 2, force=True)
    assert sentinel.exists()


def test_a_sentinel_from_before_the_job_started_stays(scheduler: Scheduler) -> None:
    sentinel = scheduler.workspace.root / ".headway/merge-conflicts/theirs.json"
    sentinel.parent.mkdir(parents=True)
    sentinel.write_text("{}")
    long_ago = scheduler.clock.now().timestamp() - 60
    os.utime(sentinel, (long_ago, long_ago))
    submit(scheduler, produces=["merge_sentinel:theirs"], retry_policy=ONCE)
    finish(scheduler, claim(scheduler))
    rewound(scheduler, 1, force=True)
    assert sentinel.exists()
