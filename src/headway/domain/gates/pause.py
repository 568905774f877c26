"""Gate 8: is dispatching paused, or is the next slot promised to a direct request?"""

from collections.abc import Collection

import msgspec

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Lane


class Pause(msgspec.Struct, frozen=True):
    """Everything (both empty), one queue, or one job type is paused."""

    queue: str = ""
    job_type: str = ""

    def holds(self, lane: Lane) -> bool:
        """Whether jobs of this lane are paused."""
        return self.queue in ("", lane.queue) and self.job_type in ("", lane.job_type)

    @property
    def sentence(self) -> str:
        """What is paused, in words."""
        if self.queue:
            return f"queue {self.queue} is paused"
        return f"job type {self.job_type} is paused" if self.job_type else "everything is paused"


def check(lane: Lane, pauses: Collection[Pause], reserved_by: str | None) -> Closed | None:
    """Closed by any pause that covers the lane, or by a direct request that waits for a slot."""
    if holding := [pause for pause in pauses if pause.holds(lane)]:
        return Closed(
            status=states.QUEUED,
            kind="paused",
            detail=holding[0].sentence,
            blockers=tuple(
                Blocker(
                    kind="pause", id=one.queue or one.job_type or "everything", detail=one.sentence
                )
                for one in holding
            ),
        )
    if reserved_by is None:
        return None
    return Closed(
        status=states.QUEUED,
        kind="reservation",
        detail=f"the next slot is reserved by {reserved_by}",
        blockers=(Blocker(kind="reservation", id=reserved_by),),
    )
