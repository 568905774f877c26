"""Repair: what verify finds is mended in one transaction, and nothing is guessed."""

import pytest
from tests.helpers import WORKER, claim, job, runs_of, submit
from tests.scheduler.asking import damage, register

from headway.domain import errors, states
from headway.domain.runs import Outcome, RunStatus
from headway.domain.steps import StepKind, Wait
from headway.protocol.work_values import Report
from headway.scheduler.programs import reports
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import repair, verify
from headway.scheduler.upkeep.remedies import ADVICE, REMEDIES
from headway.storage.upkeep import invariants


def test_every_rule_has_a_remedy_or_an_advice() -> None:
    assert REMEDIES.keys() | ADVICE.keys() == invariants.PROBLEMS.keys()
    assert not REMEDIES.keys() & ADVICE.keys()


def test_a_sound_store_is_left_alone(busy: Scheduler) -> None:
    assert repair.repair(busy) == repair.Repair(mended=[], left=[])


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DELETE FROM leases", "job 3 is RUNNING without a lease"),
        ("DELETE FROM runs WHERE status IS NULL", "job 3 is RUNNING without an open run"),
        (
            "UPDATE runs SET status = 'COMPLETED', finished_at = 5 WHERE status IS NULL",
            "job 3 is RUNNING without an open run",
        ),
        ("UPDATE jobs SET open_deps = 0", "job 5 counts its open dependencies wrongly"),
        ("UPDATE jobs SET open_deps = 7", "job 5 counts its open dependencies wrongly"),
        (
            "INSERT INTO locks VALUES ('gpu', 6, 'shared', 0)",
            "lock gpu is held exclusively and by another job",
        ),
        ("UPDATE locks SET job_number = 1", "lock gpu is held by a job that is not running"),
        ("UPDATE jobs SET worker_id = NULL", "job 6 is claimed without a worker or a time"),
        ("DELETE FROM lock_waiters", "job 4 waits for locks but stands in no line"),
        ("UPDATE lock_waiters SET position = 0", "job 4 stands wrongly in the line for a lock"),
        ("UPDATE lock_waiters SET standing = 2", "job 4 stands wrongly in the line for a lock"),
        ("DELETE FROM runs WHERE status = 'COMPLETED'", "job 1 ended, but its run is missing"),
        ("DELETE FROM lanes", "job 4 refers to a missing lane: its queue and its type are lost"),
        ("UPDATE jobs SET payload_id = 99 WHERE number = 4", "job 4 refers to missing params"),
        (
            "INSERT INTO lane_waits VALUES (77, 1, 'limits', 5)",
            "a wait of lane 77 refers to a missing lane",
        ),
        (
            "UPDATE jobs SET status = 'QUEUED', claim_expires_at = NULL, worker_id = NULL,"
            " number = 60, chain = 60 WHERE number = 6",
            "the counter of job numbers is behind the last one that is in use",
        ),
    ],
)
def test_what_is_found_is_mended(busy: Scheduler, sql: str, problem: str) -> None:
    damage(busy, sql)
    before = verify.verify(busy)
    assert problem in before
    planned = repair.plan(busy)
    assert verify.verify(busy) == before
    done = repair.repair(busy)
    assert problem in [one.problem for one in done.mended]
    assert [one.problem for one in planned.mended] == [one.problem for one in done.mended]
    assert (done.left, verify.verify(busy)) == ([], [])
    assert repair.repair(busy) == repair.Repair(mended=[], left=[])


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (
            "UPDATE steps SET finished_at = 5 WHERE kind = 'sleep'",
            "job 7 is SUSPENDED and does not wait for one thing",
        ),
        ("UPDATE jobs SET journal = 0", "job 7 has a journal that its next run would not get"),
        (
            "UPDATE jobs SET status = 'QUEUED', due_at = NULL WHERE number = 7",
            "job 7 waits for something and is not SUSPENDED",
        ),
    ],
)
def test_what_is_wrong_with_a_program_is_mended(busy: Scheduler, sql: str, problem: str) -> None:
    submit(busy, "program")
    (started,) = claim(busy, job_types=("program",))
    wait = Wait(kind=StepKind.SLEEP, name="sleep", delay_s=60)
    assert started.lease is not None
    outcome = Outcome(status=RunStatus.SUSPENDED, wait=wait)
    report = Report(lease_id=started.lease.lease_id, outcome=outcome)
    busy.store.write(lambda tx: reports.record(busy, tx, WORKER, [report]))
    assert verify.verify(busy) == []
    damage(busy, sql)
    assert verify.verify(busy) == [problem]
    assert [one.problem for one in repair.repair(busy).mended] == [problem]
    assert verify.verify(busy) == []


def test_a_lost_lease_ends_the_run_and_lets_the_next_go_on(busy: Scheduler) -> None:
    damage(busy, "DELETE FROM leases")
    repair.repair(busy)
    assert (job(busy, 3).status, job(busy, 4).status) == (states.FAILED, states.QUEUED)
    (run,) = runs_of(busy, 3)
    assert (run.status, run.error) == (RunStatus.FAILED, "Scheduler crash recovery")
    retry = job(busy, 7)
    assert (retry.retry_of, retry.attempt) == (job(busy, 3).job_id, 1)
    assert job(busy, 5).status is states.WAITING_ON_DEPS


def test_a_job_without_params_ends_and_is_not_invented(busy: Scheduler) -> None:
    submit(busy, params={"genre": "horror"})
    submit(busy, after=[7])
    damage(busy, "DELETE FROM payloads WHERE payload_id <> 0")
    repair.repair(busy)
    lost = job(busy, 7)
    assert lost.status is states.CANCELLED
    assert lost.wait_reason is not None
    assert lost.wait_reason.detail == "its params were lost"
    assert "lost" in lost.params
    assert job(busy, 8).status is states.BLOCKED_BY_DEPENDENCY


@pytest.mark.parametrize(
    ("sql", "problem", "advice"),
    [
        (
            "UPDATE jobs SET chain = 4 WHERE number = 5",
            "the chain of job 4 has more than one active link",
            "cancel the others",
        ),
        (
            "UPDATE jobs SET status = 'SUCCEEDED' WHERE number = 2",
            "job 2 ended otherwise than its run",
            "restore a backup",
        ),
        (
            "INSERT INTO schedules (schedule_id, template_id, body) VALUES ('s', 'none', '{}')",
            "schedule s refers to a missing template",
            "restore a backup",
        ),
    ],
)
def test_what_would_be_a_guess_is_left(
    busy: Scheduler, sql: str, problem: str, advice: str
) -> None:
    damage(busy, sql)
    done = repair.repair(busy)
    assert done.mended == []
    (left,) = done.left
    assert left.problem == problem
    assert advice in left.remedy
    assert verify.verify(busy) == [problem]


def test_two_jobs_that_run_with_the_same_lock_are_left_to_a_person(busy: Scheduler) -> None:
    submit(busy)
    claim(busy)
    damage(busy, "INSERT INTO locks VALUES ('gpu', 7, 'exclusive', 0)")
    (left,) = repair.repair(busy).left
    assert "cancel the others" in left.remedy


def test_a_store_that_a_server_uses_is_not_repaired(busy: Scheduler) -> None:
    repair.refuse_while_served(busy)
    register(busy, "server")
    damage(busy, "UPDATE workers SET built_in = 1")
    with pytest.raises(errors.Conflict, match="stop it first"):
        repair.refuse_while_served(busy)
