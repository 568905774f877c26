"""How a job ended, before the consequences are drawn."""

import msgspec

from headway.domain.gates import Blocker
from headway.domain.jobs import WaitReason
from headway.domain.runs import RunStatus
from headway.domain.states import JobStatus
from headway.storage.new_jobs import NewJob
from headway.storage.records import JobRecord


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A job that has just ended, as it was before, with what it came to."""

    record: JobRecord
    status: JobStatus
    reason: WaitReason | None = None
    gate: str | None = None
    """The kind of the gate that closed for ever, if one did."""
    blockers: tuple[Blocker, ...] = ()
    """What ended a job that never started, as it was then."""
    run_id: str | None = None
    run_status: RunStatus | None = None
    error: str | None = None
    exit_code: int | None = None
    artifacts: tuple[str, ...] = ()
    started_at: int | None = None
    progress: str | None = None
    retry: bool = True
    crashed: bool = False
    retry_after_s: float | None = None
    successor: NewJob | None = None
    """The link of the chain that takes its place: with it, the chain goes on."""

    @property
    def crashes(self) -> int:
        """How many runs of the chain crashed, with this one."""
        return self.record.crashes + self.crashed

    def waited_on(self, known: tuple[str, ...]) -> tuple[str, ...]:
        """Every kind of gate that was closed to the job, with those known so far."""
        return known if self.gate is None or self.gate in known else (*known, self.gate)
