"""The real clock."""

from datetime import UTC, datetime


class SystemClock:
    """What the machine says."""

    def now(self) -> datetime:
        """The current moment, in UTC."""
        return datetime.now(UTC)
