"""How a handler is left: what it raises itself, and what is raised in it."""

from headway.domain.steps import StepKind, Wait
from headway.domain.values import durations

SNOOZE = "snooze"
SHORTEST_SNOOZE_S = 1.0


class Skip(Exception):
    """There was nothing to do: the job ends SKIPPED, with the reason as the run's error."""


class Fail(Exception):
    """The job failed for a known reason; `retry=False` also stops the automatic retries."""

    def __init__(self, reason: str, *, retry: bool = True) -> None:
        super().__init__(reason)
        self.retry = retry


class Suspended(BaseException):
    """The run gives its slot back, because its job waits for something.

    No `Exception`, so that a handler does not catch it by the way. What has to be done at the end
    of a stretch of work belongs in `finally`; the lease holds until the handler is left.
    """

    def __init__(self, wait: Wait) -> None:
        super().__init__(f"{wait.kind} {wait.name!r}")
        self.wait = wait


class LeaseLost(BaseException):
    """The run's lease is over: nothing that it does from here on would be stored."""


class RetryAfter(Exception):
    """Not now: the job is called again after this delay, which does not count as a failure."""

    def __init__(self, delay: float | str, reason: str | None = None) -> None:
        self.delay_s = durations.parse(delay)
        super().__init__(f"snoozed for {self.delay_s:g} s" + (f": {reason}" if reason else ""))

    @property
    def wait(self) -> Wait:
        """A sleep of the job, of a second at least: none may keep a worker busy by it."""
        delay_s = max(self.delay_s, SHORTEST_SNOOZE_S)
        return Wait(kind=StepKind.SLEEP, name=SNOOZE, delay_s=delay_s)
