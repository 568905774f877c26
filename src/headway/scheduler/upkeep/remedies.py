"""How each broken rule of the store is mended, or what to do where that would be a guess."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from headway.domain import states
from headway.domain.jobs import WaitReason
from headway.domain.leases import LeaseState
from headway.domain.runs import RunStatus
from headway.scheduler.change.cancel import ASKED
from headway.scheduler.finish import consequences
from headway.scheduler.finish.ends import Ended
from headway.scheduler.lease import expire
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery
from headway.storage import dependencies, job_changes, jobs, runs, steps
from headway.storage.admit import lock_lines
from headway.storage.admit.lock_lines import Standing
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.runs import Closing
from headway.storage.upkeep import repairs

LOST_PARAMS = codec.dump({"lost": "these params were lost with a damaged part of the database"})
LOST_RUN = "the record of this run was lost; how it ended is what its job says"
LOST_OUTCOME = "the outcome of this run was lost"

_RUN_OF = {states.SUCCEEDED: RunStatus.COMPLETED, states.SKIPPED: RunStatus.SKIPPED}
"""How the run of a job ended that ended so; of all others it failed."""


class Mending:
    """A transaction in which things are mended; each method has the subjects of a finding."""

    def __init__(self, scheduler: Scheduler, tx: Transaction) -> None:
        self._scheduler = scheduler
        self._tx = tx

    def forget_lane_waits(self, _: Sequence[int]) -> None:
        """Lanes that are not there waited on nothing."""
        repairs.remove_stray_lane_waits(self._tx)

    def replace_lanes(self, numbers: Sequence[int]) -> None:
        """Jobs of lanes that are lost end."""
        repairs.stand_in_for_lanes(self._tx)
        self._end_lost(numbers, "its queue and its type were lost")

    def replace_params(self, numbers: Sequence[int]) -> None:
        """Jobs whose params are lost end."""
        repairs.stand_in_for_params(self._tx, LOST_PARAMS)
        self._end_lost(numbers, "its params were lost")

    def leave_groups(self, numbers: Sequence[int]) -> None:
        """Members of a lost group leave it; without its order, what has not started ends."""
        repairs.leave_groups(self._tx, numbers)
        self._end_lost(numbers, "its group was lost")

    def replace_params_of_runs(self, _: Sequence[str]) -> None:
        """The params that a run had are shown as lost."""
        repairs.stand_in_for_params(self._tx, LOST_PARAMS)

    def _end_lost(self, numbers: Sequence[int], why: str) -> None:
        """Jobs of which too much is lost to run them end; what runs is asked to."""
        reason = WaitReason(kind="cancelled", detail=why)
        ended = []
        for record in jobs.read(self._tx, numbers):
            if record.status is states.RUNNING:
                job_changes.request_cancel(self._tx, record.number, record.cancel or ASKED)
            elif record.status in states.ACTIVE:
                ended.append(
                    Ended(record=record, status=states.CANCELLED, reason=reason, retry=False)
                )
        consequences.settle(self._scheduler, self._tx, ended)

    def raise_numbers(self, _: Sequence[str]) -> None:
        """New numbers come behind those that are in use."""
        repairs.raise_numbers(self._tx)

    def remove_leases(self, lease_ids: Sequence[str]) -> None:
        """Leases under which nothing runs are over."""
        repairs.end_leases(self._tx, lease_ids)

    def end_without_run(self, numbers: Sequence[int]) -> None:
        """Jobs whose run is not open end, whatever lease they have."""
        held = [record.run_id for record in jobs.read(self._tx, numbers) if record.run_id]
        repairs.end_leases(self._tx, held)
        self.end_without_lease(numbers)

    def end_without_lease(self, numbers: Sequence[int]) -> None:
        """Jobs that cannot be running end as recovery ends them."""
        recovery.mend_jobs_without_lease(self._scheduler, self._tx, numbers)

    def close_runs(self, run_ids: Sequence[str]) -> None:
        """An open run ended as its job did, if that was its last one; otherwise it failed."""
        found = runs.reports(self._tx, run_ids)
        read = jobs.read(self._tx, [run.job_number for run in found.values()])
        ended = {one.run_id: one.status for one in read}
        closings = (
            (run_id, _RUN_OF.get(ended.get(run_id, states.FAILED), RunStatus.FAILED))
            for run_id in found
        )
        runs.close(self._tx, [(run_id, _closing(status)) for run_id, status in closings])

    def record_runs(self, numbers: Sequence[int]) -> None:
        """A run that is missing ended as its job did."""
        for record in jobs.read(self._tx, numbers):
            status = _RUN_OF.get(record.status, RunStatus.FAILED)
            repairs.insert_run_of(self._tx, record, status, LOST_RUN)

    def give_back(self, numbers: Sequence[int]) -> None:
        """Claims of no worker go back to the queue."""
        expire.give_back(self._scheduler, self._tx, numbers)

    def release_locks(self, _: Sequence[str]) -> None:
        """Locks of jobs that do not run are free, and the next may try."""
        freed = repairs.release_stray_locks(self._tx)
        consequences.admit_or_end(self._scheduler, self._tx, freed=freed)

    def count_dependencies(self, numbers: Sequence[int]) -> None:
        """Open dependencies are counted again, and the gates checked."""
        repairs.count_open_dependencies(self._tx, numbers)
        consequences.admit_or_end(self._scheduler, self._tx, numbers)

    def line_up(self, numbers: Sequence[int]) -> None:
        """Jobs leave the queues of all locks, and enter those of theirs if they wait."""
        lock_lines.leave(self._tx, numbers)
        claimed = [one for one in jobs.read(self._tx, numbers) if one.status in states.CLAIMS]
        lock_lines.stand(self._tx, [(Standing.CLAIMED, one) for one in claimed])
        consequences.admit_or_end(self._scheduler, self._tx, numbers)

    def end_waits(self, numbers: Sequence[int]) -> None:
        """Waits that make no sense are over; programs that were suspended go on."""
        steps.end_waits(self._tx, numbers)
        self._forget_children(numbers)
        repairs.count_open_dependencies(self._tx, numbers)
        consequences.admit_or_end(self._scheduler, self._tx, numbers)

    def _forget_children(self, numbers: Sequence[int]) -> None:
        """Jobs come after what their terms say; the list of their children may be lost."""
        named = {
            (record.number, before.number)
            for record in jobs.read(self._tx, numbers)
            for before in record.terms.after
        }
        for one in dependencies.of(self._tx, numbers):
            if one.chain > 0 and (one.number, one.chain) not in named:
                dependencies.unfollow(self._tx, one.number, one.chain)

    def begin_journals(self, numbers: Sequence[int]) -> None:
        """Jobs know that they have journals."""
        steps.begin_journals(self._tx, numbers)


def _closing(status: RunStatus) -> Closing:
    return Closing(status, None, LOST_OUTCOME, None, None, LeaseState.EXPIRED, None)


class Remedy(NamedTuple):
    """What is done about a broken rule, in words, and the function that does it."""

    text: str
    mend: Callable[[Mending, Sequence[Any]], None]


REMEDIES: Mapping[str, Remedy] = {
    "verify_lane_wait_without_lane": Remedy("it is forgotten", Mending.forget_lane_waits),
    "verify_job_without_lane": Remedy(
        "its queue and type are shown as `lost`; if it has not ended, it ends CANCELLED",
        Mending.replace_lanes,
    ),
    "verify_job_without_params": Remedy(
        "its params are shown as lost; if it has not ended, it ends CANCELLED",
        Mending.replace_params,
    ),
    "verify_job_without_group": Remedy(
        "it leaves the group; if it has not ended, it ends CANCELLED: its turn is lost",
        Mending.leave_groups,
    ),
    "verify_run_without_params": Remedy(
        "its params are shown as lost", Mending.replace_params_of_runs
    ),
    "verify_numbers": Remedy("it is raised", Mending.raise_numbers),
    "verify_lease_without_running_job": Remedy("the lease is removed", Mending.remove_leases),
    "verify_running_without_open_run": Remedy(
        "it ends as its last run did; without one, as after a crash", Mending.end_without_run
    ),
    "verify_running_without_lease": Remedy(
        "it ends as its last run did, or as after a crash: FAILED, and retried as its policy says",
        Mending.end_without_lease,
    ),
    "verify_open_run_without_running_job": Remedy(
        "it is closed: as its job ended, otherwise FAILED", Mending.close_runs
    ),
    "verify_ended_without_run": Remedy(
        "a run is recorded that ended as the job did, with its result lost", Mending.record_runs
    ),
    "verify_claim_without_worker": Remedy(
        "it goes back to the queue: nothing has run", Mending.give_back
    ),
    "verify_lock_without_running_job": Remedy("the lock is released", Mending.release_locks),
    "verify_open_dependencies": Remedy(
        "they are counted again, and its gates are checked", Mending.count_dependencies
    ),
    "verify_suspended_without_wait": Remedy(
        "it runs again, and its program waits again", Mending.end_waits
    ),
    "verify_wait_without_suspended": Remedy("the wait is over", Mending.end_waits),
    "verify_unread_journal": Remedy("its next run gets it", Mending.begin_journals),
    "verify_line_without_waiting": Remedy("it is put where it belongs", Mending.line_up),
    "verify_waiting_without_line": Remedy("it is put in line", Mending.line_up),
}
"""In this order: what an earlier one leaves behind, a later one mends."""

ADVICE: Mapping[str, str] = {
    "verify_schedule_without_template": (
        "restore a backup, or delete the schedule: `headway schedules delete ID`"
    ),
    "verify_conflicting_locks": (
        "which of the running jobs may go on is yours to say: cancel the others"
        " (`headway locks` names them), or restore a backup"
    ),
    "verify_two_active_links": (
        "which of them should run is yours to say: cancel the others"
        " (`headway jobs show JOB` names the chain), or restore a backup"
    ),
    "verify_ends": ("which of the two is true cannot be told: restore a backup, or retry the job"),
}
"""What to do where to mend would be to guess."""
