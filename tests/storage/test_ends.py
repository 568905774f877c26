"""An end is written once."""

from tests.helpers import claim, finish, runs_of, submit

from headway.domain.leases import LeaseState
from headway.domain.runs import RunStatus
from headway.scheduler.scheduler import Scheduler
from headway.storage import runs
from headway.storage.runs import Closing


def test_a_run_that_has_ended_stays_as_it_is(scheduler: Scheduler) -> None:
    submitted = submit(scheduler)
    finish(scheduler, claim(scheduler), result={"n": 1})
    (ended,) = runs_of(scheduler, submitted.number)
    again = Closing(RunStatus.FAILED, 1, "late", None, None, LeaseState.EXPIRED, None)
    scheduler.store.write(lambda tx: runs.close(tx, [(ended.run_id, again)]))
    assert runs_of(scheduler, submitted.number) == [ended]
