"""Not possible in the current state."""

from typing import Self

from headway.domain.errors.root import HeadwayError


class Conflict(HeadwayError):
    """Not possible in the current state."""

    code = "conflict"
    http_status = 409
    exit_code = 4


class NotActive(Conflict):
    """The job has already ended."""

    code = "not_active"

    def __init__(self, job: object) -> None:
        super().__init__(f"job {job} is not active")


class BuiltInWorker(Conflict):
    """The worker lives in a server that is running."""

    code = "built_in_worker"

    def __init__(self, worker_id: str) -> None:
        super().__init__(
            f"worker {worker_id} is built into a server that is running: stop that server,"
            f" or let its worker take no more jobs: headway workers drain {worker_id}"
        )


class AlreadyClaimed(Conflict):
    """Only a job that no worker has taken can be changed."""

    code = "already_claimed"

    def __init__(self, job: object, status: str) -> None:
        super().__init__(f"job {job} is {status} and can no longer be changed")


class IllegalMove(Conflict):
    """This change of status is not allowed."""

    code = "illegal_move"

    def __init__(self, job: object, status: str, target: str) -> None:
        super().__init__(f"job {job} is {status} and cannot become {target}")


class OtherBand(Conflict):
    """A job can only be moved within its priority."""

    code = "other_priority"

    def __init__(self, job: object, other: object) -> None:
        super().__init__(
            f"job {job} and job {other} have different priorities; change the priority first"
        )


class IdempotencyMismatch(Conflict):
    """The key was already used for a different request."""

    code = "idempotency_mismatch"

    def __init__(self, key: str) -> None:
        super().__init__(f"idempotency key {key!r} was already used with a different request")


class NameTaken(Conflict):
    """The name is already in use."""

    code = "name_taken"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is already a {kind} named {name!r}")


class SlotReserved(Conflict):
    """The next slot is already reserved."""

    code = "slot_reserved"

    def __init__(self, holder: str) -> None:
        super().__init__(f"the next slot is reserved by {holder}")


class StaleVersion(Conflict):
    """It has changed since you read it."""

    code = "stale_version"
    http_status = 412

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"{kind} {name} has changed since you read it; read it again")


class LeaseEnded(Conflict):
    """The lease is no longer active, so nothing was changed."""

    code = "lease_ended"

    def __init__(self, lease_id: str, state: str) -> None:
        super().__init__(f"lease {lease_id} is {state}; nothing was changed")


class RunNotFailed(Conflict):
    """Only a failed run can be retried."""

    code = "run_not_failed"

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"run {run_id} is {status}; only a FAILED run can be retried")


class RewindRefused(Conflict):
    """The jobs cannot be rewound in their current state."""

    code = "rewind_refused"
    facts = ("succeeded",)

    def __init__(self, detail: str, *, succeeded: str | None = None) -> None:
        super().__init__(detail)
        self.succeeded = succeeded
        """The job that succeeded, if only force would run it again."""

    @classmethod
    def without_force(cls, job: str, advice: str = "give force") -> Self:
        """A job that succeeded runs again only with force."""
        return cls(f"job {job} succeeded; {advice} to run it again", succeeded=job)


class NotAwaitingApproval(Conflict):
    """The job needs no approval, or was already approved or rejected."""

    code = "not_awaiting_approval"

    def __init__(self, job: object, status: str) -> None:
        super().__init__(f"job {job} is not awaiting approval; it is {status}")


class LogGap(Conflict):
    """A piece of output would leave a gap in the log."""

    code = "log_gap"
    facts = ("size",)

    def __init__(self, offset: int, size: int) -> None:
        super().__init__(
            f"a piece at {offset} would leave a gap; send from {size}, where the log ends"
        )
        self.size = size


class JobEnded(Conflict):
    """The job is over, and so are its retries: nothing can reach it any more."""

    code = "job_ended"

    def __init__(self, job: object, status: str) -> None:
        super().__init__(f"job {job} has ended; it is {status}")


class StepDiffers(Conflict):
    """The journal has another result for this step."""

    code = "step_differs"

    def __init__(self, name: str, index: int) -> None:
        super().__init__(f"step {name} {index} is in the journal with another result")


class JournalFull(Conflict):
    """The journal of the job has as many entries as it may have."""

    code = "journal_full"

    def __init__(self, job: object, most: int) -> None:
        super().__init__(
            f"the journal of job {job} has {most} entries, as many as it may have;"
            " let children do parts of the work"
        )
