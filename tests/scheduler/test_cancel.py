"""Cancelling: what has ended stays, and what runs is told how it is to end."""

import pytest
from tests.helpers import WORKER, claim, finish, job, submit

from headway.domain import errors
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.protocol.work_shapes import HeartbeatItem
from headway.scheduler.change import cancel
from headway.scheduler.lease import leases
from headway.scheduler.scheduler import Scheduler


def cancelled(scheduler: Scheduler, number: int, *, force: bool = False) -> None:
    """Cancel a job."""
    scheduler.store.write(lambda tx: cancel.cancel(scheduler, tx, number, force=force))


def test_what_has_ended_is_not_cancelled(scheduler: Scheduler) -> None:
    ended = submit(scheduler)
    finish(scheduler, claim(scheduler))
    with pytest.raises(errors.NotActive, match=f"job {ended.job_id} is not active"):
        cancelled(scheduler, ended.number)
    assert job(scheduler, ended.number).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize(("forces", "told"), [([False], "asked"), ([False, True, False], "forced")])
def test_a_forced_cancel_is_told_as_one(
    scheduler: Scheduler, forces: list[bool], told: str
) -> None:
    running = submit(scheduler)
    (started,) = claim(scheduler)
    for force in forces:
        cancelled(scheduler, running.number, force=force)
    assert started.lease is not None
    beats = [HeartbeatItem(lease_id=started.lease.lease_id)]
    (answer,) = scheduler.store.write(lambda tx: leases.heartbeat(scheduler, tx, WORKER, beats))
    assert answer.cancel == told
    finish(scheduler, started, RunStatus.FAILED)
    assert job(scheduler, running.number).status is JobStatus.CANCELLED
