"""Gate 8: is dispatching paused, or is the next slot promised to a direct request?"""

from collections.abc import Collection

import msgspec

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Lane
from headway.domain.manage.reservations import Reservation


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


def check(lane: Lane, pauses: Collection[Pause], reservation: Reservation | None) -> Closed | None:
    """Closed by any pause that covers the lane, and by a reservation that waits for a slot."""
    holding = [pause for pause in pauses if pause.holds(lane)]
    sentences = [one.sentence for one in holding]
    blockers = [_paused(one) for one in holding]
    if reservation is not None:
        sentences.append(f"the next slot is reserved by {reservation.reserved_by}")
        blockers.append(_reserved(reservation))
    if not blockers:
        return None
    return Closed(
        status=states.QUEUED,
        kind="paused" if holding else "reservation",
        detail="; ".join(sentences),
        blockers=tuple(blockers),
    )


def _paused(one: Pause) -> Blocker:
    return Blocker(kind="pause", id=one.queue or one.job_type or "everything", detail=one.sentence)


def _reserved(one: Reservation) -> Blocker:
    return Blocker(
        kind="reservation",
        id=one.reservation_id,
        detail=f"reserved by {one.reserved_by}",
        since=one.created_at,
    )
