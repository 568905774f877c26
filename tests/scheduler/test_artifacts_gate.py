"""The gate of artifacts: there or not, and who could make them."""

from collections.abc import Callable

import pygit2
import pytest
from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import (
    closed_gate,
    graph,
    keep_time,
    register,
    rewound,
    submit_all,
    why,
)

from headway.domain import errors
from headway.domain.answers import GateState
from headway.domain.jobs import WaitReason
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.scheduler.change import retry
from headway.scheduler.manage import markers
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import probe

ONCE = {"max_attempts": 0}
NAME = "custom:model:big"


def reason(scheduler: Scheduler, number: int) -> tuple[JobStatus, str]:
    found = job(scheduler, number)
    assert found.wait_reason is not None
    assert found.wait_reason.kind == "dependencies"
    return found.status, found.wait_reason.detail


def put(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: markers.put(scheduler, tx, "model", "big"))


def test_what_is_there_is_enough_whatever_its_producer_did(scheduler: Scheduler) -> None:
    submit(scheduler, produces=[NAME], retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    put(scheduler)
    assert submit(scheduler, needs=[NAME]).status is JobStatus.QUEUED


def test_a_missing_artifact_is_waited_for_while_a_job_produces_it(scheduler: Scheduler) -> None:
    submit(scheduler, produces=[NAME])
    user = submit(scheduler, needs=[NAME])
    waiting = (JobStatus.WAITING_ON_DEPS, f"waiting on {NAME}")
    assert reason(scheduler, user.number) == waiting
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [user.number]


def test_who_found_a_marker_there_learns_at_once_that_its_maker_failed(
    scheduler: Scheduler,
) -> None:
    put(scheduler)
    submit(scheduler, "make", produces=[NAME], retry_policy=ONCE)
    user = submit(scheduler, needs=[NAME])
    assert user.status is JobStatus.QUEUED
    finish(scheduler, claim(scheduler, job_types=("make",)), RunStatus.FAILED)
    blocked = (JobStatus.BLOCKED_BY_DEPENDENCY, f"dependency failed for {NAME}")
    assert reason(scheduler, user.number) == blocked


def test_who_awaits_a_producer_waits_for_the_artifact_once_there_is_one(
    scheduler: Scheduler,
) -> None:
    user = submit(scheduler, needs=[NAME], missing_producer="wait")
    assert reason(scheduler, user.number)[1] == f"awaiting producer for {NAME}"
    submit(scheduler, produces=[NAME])
    assert reason(scheduler, user.number)[1] == f"waiting on {NAME}"


def test_a_try_of_an_earlier_generation_is_no_producer_any_more(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    submit(scheduler, produces=["file:out"], retry_policy={"max_attempts": 1})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(11)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler))
    rewound(scheduler, 1, force=True)
    register(scheduler)
    user = submit(scheduler, needs=["file:out"])
    gate = closed_gate(why(scheduler, user.number))
    assert [(one.kind, one.status) for one in gate.blockers] == [
        ("artifact", "missing"),
        ("job", JobStatus.QUEUED),
    ]
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    clock.move(11)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert reason(scheduler, user.number)[1] == "dependency failed for file:out"


def test_without_a_producer_a_missing_artifact_blocks(scheduler: Scheduler) -> None:
    user = submit(scheduler, needs=[NAME])
    blocked = (JobStatus.BLOCKED_BY_DEPENDENCY, f"missing {NAME}")
    assert reason(scheduler, user.number) == blocked


def test_a_producer_that_succeeded_without_making_it_blocks(scheduler: Scheduler) -> None:
    submit(scheduler, produces=["file:out.txt"])
    user = submit(scheduler, needs=["file:out.txt"])
    finish(scheduler, claim(scheduler))
    blocked = (JobStatus.BLOCKED_BY_DEPENDENCY, "missing file:out.txt")
    assert reason(scheduler, user.number) == blocked


def test_producers_that_all_failed_block(scheduler: Scheduler) -> None:
    submit(scheduler, produces=[NAME], retry_policy=ONCE)
    user = submit(scheduler, needs=[NAME])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    blocked = (JobStatus.BLOCKED_BY_DEPENDENCY, f"dependency failed for {NAME}")
    assert reason(scheduler, user.number) == blocked


def test_who_wants_to_waits_for_a_producer_to_come(scheduler: Scheduler) -> None:
    user = submit(scheduler, needs=[NAME], missing_producer="wait")
    waiting = (JobStatus.WAITING_ON_DEPS, f"awaiting producer for {NAME}")
    assert reason(scheduler, user.number) == waiting
    put(scheduler)
    assert [one.number for one in claim(scheduler)] == [user.number]


def test_a_file_that_appears_lets_the_job_go_on(scheduler: Scheduler) -> None:
    user = submit(scheduler, needs=["file:in.txt"], missing_producer="wait")
    keep_time(scheduler)
    assert claim(scheduler) == []
    (scheduler.workspace.root / "in.txt").write_text("here")
    keep_time(scheduler)
    assert [one.number for one in claim(scheduler)] == [user.number]


def test_a_marker_is_removed_when_its_producer_fails(scheduler: Scheduler) -> None:
    put(scheduler)
    submit(scheduler, produces=[NAME], retry_policy=ONCE)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    with pytest.raises(errors.NotFound):
        scheduler.store.read(lambda tx: markers.view(scheduler, tx, "model", "big"))


def test_a_marker_that_is_taken_away_closes_the_gate_again(scheduler: Scheduler) -> None:
    put(scheduler)
    user = submit(scheduler, needs=[NAME], missing_producer="wait")
    scheduler.store.write(lambda tx: markers.remove(scheduler, tx, "model", "big"))
    assert job(scheduler, user.number).status is JobStatus.WAITING_ON_DEPS


def test_markers_are_listed_with_who_made_them(scheduler: Scheduler) -> None:
    put(scheduler)
    maker = submit(scheduler, produces=["custom:a:b"])
    finish(scheduler, claim(scheduler))
    found = scheduler.store.read(lambda tx: markers.after(tx, "", 10))
    assert [(one.artifact, one.job_id) for one in found] == [
        ("custom:a:b", maker.job_id),
        (NAME, None),
    ]


def test_a_job_can_need_the_success_of_another(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    user = submit(scheduler, needs=[f"job:{first.number}"], missing_producer="wait")
    assert job(scheduler, user.number).status is JobStatus.WAITING_ON_DEPS
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [user.number]


@pytest.mark.parametrize("by", ["job_id", "number"])
def test_the_success_of_a_job_is_its_saved_patch_at_once(scheduler: Scheduler, by: str) -> None:
    maker = submit(scheduler, "ask")
    name = f"ask_save_patch:{getattr(maker, by)}"
    user = submit(scheduler, needs=[name])
    assert reason(scheduler, user.number) == (JobStatus.WAITING_ON_DEPS, f"waiting on {name}")
    (edge,) = graph(scheduler).edges
    assert (edge.artifact, edge.to) == (name, maker.job_id)
    finish(scheduler, claim(scheduler))
    assert job(scheduler, user.number).status is JobStatus.QUEUED


def test_the_failure_of_a_job_blocks_who_needs_its_saved_patch(scheduler: Scheduler) -> None:
    maker = submit(scheduler, "ask", retry_policy=ONCE)
    name = f"ask_save_patch:{maker.job_id}"
    user = submit(scheduler, needs=[name])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    blocked = (JobStatus.BLOCKED_BY_DEPENDENCY, f"dependency failed for {name}")
    assert reason(scheduler, user.number) == blocked


def test_however_many_jobs_are_pinned_to_a_branch_all_go_on_when_it_is_there(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "BATCH", 5)
    head = first_commit(scheduler)
    pin = {"branch": "main", "commit": head}
    for commit in (head, "0" * 40):
        submit_all(scheduler, *({"pinned_head": {**pin, "commit": commit}} for _ in range(17)))
    assert job(scheduler, 17).status is JobStatus.QUEUED
    assert job(scheduler, 18).wait_reason == WaitReason(
        kind="pinned_head", detail="pinned head mismatch on main"
    )
    other = second_commit(scheduler)
    assert claim(scheduler, 50) == []
    assert other != head
    set_head(scheduler, head)
    probe.probe(scheduler)
    assert [one.number for one in claim(scheduler, 50)] == list(range(1, 18))
    assert job(scheduler, 34).status is JobStatus.WAITING_ON_DEPS


def test_a_pinned_head_needs_a_repository_and_a_commit(scheduler: Scheduler) -> None:
    with pytest.raises(errors.InvalidRequest, match="the workspace is not a git repository"):
        submit(scheduler, pinned_head={"branch": "main", "commit": "0" * 40})
    first_commit(scheduler)
    for commit in ("HEAD", "", "abcdef", "0" * 65, "main~1"):
        with pytest.raises(errors.InvalidRequest, match="7 to 64 hexadecimal digits"):
            submit(scheduler, pinned_head={"branch": "main", "commit": commit})
    assert submit(scheduler).number == 1


def first_commit(scheduler: Scheduler) -> str:
    pygit2.init_repository(str(scheduler.workspace.root), initial_head="main")
    return second_commit(scheduler)


def second_commit(scheduler: Scheduler) -> str:
    """A commit on top of what there is; answers its id."""
    repository = pygit2.Repository(str(scheduler.workspace.root))
    parents = [] if repository.head_is_unborn else [repository.head.target]
    author = pygit2.Signature("Ann", "ann@example.org", 1, 0)
    tree = repository.TreeBuilder().write()
    made = repository.create_commit("refs/heads/main", author, author, "more", tree, parents)
    return str(made)


def set_head(scheduler: Scheduler, commit: str) -> None:
    repository = pygit2.Repository(str(scheduler.workspace.root))
    repository.lookup_reference("refs/heads/main").set_target(commit)


@pytest.mark.parametrize("spelling", [str.upper, lambda name: f" {name}"])
def test_a_job_that_a_patch_names_in_another_spelling_is_the_same_job(
    scheduler: Scheduler, spelling: Callable[[str], str]
) -> None:
    asked = submit(scheduler)
    user = submit(scheduler, needs=[f"ask_save_patch:{spelling(asked.job_id)}"])
    by_number = submit(scheduler, needs=[f"ask_save_patch:0{asked.number}"])
    assert job(scheduler, user.number).needs == (f"ask_save_patch:{asked.job_id}",)
    finish(scheduler, claim(scheduler))
    for one in (user, by_number):
        assert job(scheduler, one.number).status is JobStatus.QUEUED


def test_the_failure_of_one_producer_leaves_what_another_has_made(scheduler: Scheduler) -> None:
    submit(scheduler, produces=[NAME])
    failing = submit(scheduler, produces=[NAME], retry_policy=ONCE)
    finish(scheduler, claim(scheduler))
    user = submit(scheduler, needs=[NAME], approval=True)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert job(scheduler, user.number).status is JobStatus.WAITING_ON_APPROVAL
    rewound(scheduler, failing.number)
    assert why(scheduler, user.number).gates[2].state is GateState.OPEN


def test_a_marker_set_by_hand_goes_with_the_failure_of_its_producer(scheduler: Scheduler) -> None:
    submit(scheduler, produces=[NAME], retry_policy=ONCE)
    put(scheduler)
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    user = submit(scheduler, needs=[NAME])
    assert reason(scheduler, user.number) == (
        JobStatus.BLOCKED_BY_DEPENDENCY,
        f"dependency failed for {NAME}",
    )
    assert job(scheduler, user.number).waited_on == ("dependencies",)


def test_a_producer_whose_chain_is_tried_again_is_an_active_one(scheduler: Scheduler) -> None:
    submit(scheduler, "make", produces=[NAME], retry_policy={"max_attempts": 1, "base_delay_s": 0})
    (first,) = claim(scheduler)
    finish(scheduler, first, RunStatus.FAILED)
    keep_time(scheduler)
    finish(scheduler, claim(scheduler))
    scheduler.store.write(lambda tx: markers.remove(scheduler, tx, "model", "big"))
    assert first.lease is not None
    run_id = first.lease.lease_id
    scheduler.store.write(lambda tx: retry.retry_run(scheduler, tx, run_id))
    user = submit(scheduler, needs=[NAME])
    assert reason(scheduler, user.number) == (JobStatus.WAITING_ON_DEPS, f"waiting on {NAME}")
    finish(scheduler, claim(scheduler))
    assert [one.number for one in claim(scheduler)] == [user.number]
