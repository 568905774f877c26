"""What a closed gate says."""

from datetime import datetime

import msgspec

from headway.domain.jobs import WaitReason
from headway.domain.states import JobStatus


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that keeps a gate closed."""

    kind: str
    id: str
    status: str | None = None
    detail: str | None = None
    since: datetime | None = None


class FullLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit without room for the job; `by_rate` if its size has room, but its rate has not."""

    name: str
    by_rate: bool


class Closed(msgspec.Struct, frozen=True, kw_only=True):
    """The gate is closed: the status the job gets, why, and what blocks it.

    `forever` says that nothing could open it as things are registered now; `is_busy` that only a
    free slot is missing, which is no reason to wait but the job's turn.
    """

    status: JobStatus
    kind: str
    detail: str
    blockers: tuple[Blocker, ...] = ()
    full_limits: tuple[FullLimit, ...] = ()
    forever: bool = False
    is_busy: bool = False

    @property
    def reason(self) -> WaitReason:
        """The reason in the form that is kept with the job."""
        return WaitReason(kind=self.kind, detail=self.detail)
