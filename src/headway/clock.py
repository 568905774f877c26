"""The real clock."""

import time
from datetime import UTC, datetime

_STARTED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS has no such clock


class SystemClock:
    """What the machine says."""

    def now(self) -> datetime:
        """The current moment, in UTC."""
        return datetime.now(UTC)


def passed_s() -> float:
    """Seconds that have passed, with those in which the machine was suspended."""
    return time.clock_gettime(_STARTED)
