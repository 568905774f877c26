"""Gate 1: is it time yet?"""

from datetime import datetime

from headway.domain import states
from headway.domain.gates.verdict import Closed
from headway.domain.values import moments


def check(scheduled_for: datetime | None, now: datetime) -> Closed | None:
    """Closed until the moment the job is scheduled for."""
    if scheduled_for is None or scheduled_for <= now:
        return None
    return Closed(
        status=states.QUEUED,
        kind="scheduled",
        detail=f"scheduled for {moments.show(scheduled_for)}",
    )


def check_sleep(until: datetime | None, now: datetime) -> Closed | None:
    """Closed while the program of the job sleeps."""
    if until is None or until <= now:
        return None
    return Closed(
        status=states.SUSPENDED,
        kind="scheduled",
        detail=f"sleeping until {moments.show(until)}",
    )
