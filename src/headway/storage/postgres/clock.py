"""One clock for all processes on a database."""

from datetime import UTC, datetime, timedelta

from headway.clock import passed_s
from headway.storage.engine.store import Clock

STEP = timedelta(milliseconds=250)


class SharedClock:
    """The database's clock: servers whose own clocks differ agree on what is due and what is late.

    It is read every so often; in between, time passes here. The answer takes a while, so what seems
    to be behind is believed only when it is far behind, and an answer that took long not at all.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._said: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """The current moment, in UTC; this machine's as long as the database has not been asked."""
        if self._said is None:
            return self._own.now()
        moment, at = self._said
        return moment + timedelta(seconds=passed_s() - at)

    def agree(self, theirs: datetime, took_s: float = 0.0) -> None:
        """The database has said what time it was at some moment while this took so long."""
        if self._said is None:
            self._said = theirs.astimezone(UTC), passed_s() - took_s / 2
        elif took_s < STEP.total_seconds() and not timedelta() <= self.now() - theirs < STEP:
            self._said = theirs.astimezone(UTC), passed_s()
