"""The statuses of a job and the one table of legal moves.

Every function that writes a status calls `check` or `check_all` first; nothing else knows which
moves exist.
`docs/lifecycle.md` is drawn from this file.
"""

from collections.abc import Iterable
from enum import StrEnum

from headway.domain import errors


class JobStatus(StrEnum):
    """The status of a job; MEANING has a sentence for each."""

    QUEUED = "QUEUED"
    WAITING_ON_DEPS = "WAITING_ON_DEPS"
    WAITING_ON_APPROVAL = "WAITING_ON_APPROVAL"
    WAITING_ON_LOCKS = "WAITING_ON_LOCKS"
    CLAIMED = "CLAIMED"
    PREPARING = "PREPARING"
    LEASE_PENDING = "LEASE_PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    BLOCKED_BY_DEPENDENCY = "BLOCKED_BY_DEPENDENCY"
    BLOCKED_BY_APPROVAL = "BLOCKED_BY_APPROVAL"


QUEUED = JobStatus.QUEUED
WAITING_ON_DEPS = JobStatus.WAITING_ON_DEPS
WAITING_ON_APPROVAL = JobStatus.WAITING_ON_APPROVAL
WAITING_ON_LOCKS = JobStatus.WAITING_ON_LOCKS
CLAIMED = JobStatus.CLAIMED
PREPARING = JobStatus.PREPARING
LEASE_PENDING = JobStatus.LEASE_PENDING
RUNNING = JobStatus.RUNNING
SUSPENDED = JobStatus.SUSPENDED
SUCCEEDED = JobStatus.SUCCEEDED
FAILED = JobStatus.FAILED
SKIPPED = JobStatus.SKIPPED
TIMEOUT = JobStatus.TIMEOUT
CANCELLED = JobStatus.CANCELLED
BLOCKED_BY_DEPENDENCY = JobStatus.BLOCKED_BY_DEPENDENCY
BLOCKED_BY_APPROVAL = JobStatus.BLOCKED_BY_APPROVAL

MEANING: dict[JobStatus, str] = {
    QUEUED: "every gate is open, or only time, a limit or a free worker is missing",
    WAITING_ON_DEPS: "another job, an artifact or the pinned head is not there yet",
    WAITING_ON_APPROVAL: "a person must approve",
    WAITING_ON_LOCKS: "another job holds a needed lock",
    CLAIMED: "a worker has taken it and not yet started",
    PREPARING: "the worker is setting up its runtime",
    LEASE_PENDING: "the worker asked for a lease and was told to ask again later",
    RUNNING: "a lease is held and a run is open",
    SUSPENDED: "its program gave the slot back, and waits for a time, a signal or its children",
    SUCCEEDED: "its run is COMPLETED",
    FAILED: "its run is FAILED",
    SKIPPED: "its run is SKIPPED",
    TIMEOUT: "its lease expired or it ran past `timeout_s`; its run is FAILED",
    CANCELLED: "cancelled by request, by its worker, or with its group",
    BLOCKED_BY_DEPENDENCY: "a dependency can no longer be met",
    BLOCKED_BY_APPROVAL: "a person rejected it",
}

WAITING = frozenset({QUEUED, WAITING_ON_DEPS, WAITING_ON_APPROVAL, WAITING_ON_LOCKS})
"""Not yet taken by a worker: the job can still be changed."""

CLAIMS = frozenset({CLAIMED, PREPARING, LEASE_PENDING})
"""Taken by a worker, not started: nothing has run."""

ADMITTED = WAITING | {SUSPENDED}
"""No worker has it: when its gates open, it is queued."""

ACTIVE = WAITING | CLAIMS | {RUNNING, SUSPENDED}
SUCCESS = frozenset({SUCCEEDED, SKIPPED})
BLOCKED = frozenset({BLOCKED_BY_DEPENDENCY, BLOCKED_BY_APPROVAL})
FAILURE = frozenset({FAILED, TIMEOUT, CANCELLED}) | BLOCKED
RETRYABLE = frozenset({FAILED, TIMEOUT})
TERMINAL = SUCCESS | FAILURE

_ENDS_BEFORE_START = frozenset({CANCELLED, SKIPPED, BLOCKED_BY_DEPENDENCY, BLOCKED_BY_APPROVAL})

_ENDS_AS_A_CLAIM = frozenset({CANCELLED, SKIPPED, BLOCKED_BY_DEPENDENCY})

MOVES: dict[JobStatus, frozenset[JobStatus]] = {
    **{
        waiting: (WAITING - {waiting})
        | ({CLAIMED, RUNNING} if waiting is QUEUED else set())
        | _ENDS_BEFORE_START
        for waiting in WAITING
    },
    CLAIMED: frozenset({QUEUED, PREPARING, LEASE_PENDING, RUNNING}) | _ENDS_AS_A_CLAIM,
    PREPARING: frozenset({QUEUED, LEASE_PENDING, RUNNING}) | _ENDS_AS_A_CLAIM,
    LEASE_PENDING: frozenset({QUEUED, RUNNING}) | _ENDS_AS_A_CLAIM,
    RUNNING: frozenset({SUCCEEDED, FAILED, SKIPPED, TIMEOUT, CANCELLED, SUSPENDED}),
    SUSPENDED: WAITING | {CANCELLED, BLOCKED_BY_DEPENDENCY},
    **{ended: frozenset({QUEUED}) for ended in TERMINAL},
}
"""A terminal job goes back to QUEUED only by a rewind, as a new generation."""


def allows(status: JobStatus, target: JobStatus) -> bool:
    """Whether a job may go from one status to the other."""
    return target in MOVES[status]


def check(job: object, status: JobStatus, target: JobStatus) -> None:
    """Refuse a move that the table does not have; staying where one is is no move."""
    if target is not status and not allows(status, target):
        raise errors.IllegalMove(job, status, target)


def check_all(jobs: Iterable[tuple[object, JobStatus]], target: JobStatus) -> None:
    """Refuse the same move of many jobs; each status that they have is looked up once."""
    for status, job in {status: job for job, status in jobs}.items():
        check(job, status, target)


def read(text: str) -> JobStatus:
    """A status word in any case; the American spelling of CANCELLED is understood."""
    word = text.strip().upper()
    return JobStatus("CANCELLED" if word == "CANCELED" else word)
