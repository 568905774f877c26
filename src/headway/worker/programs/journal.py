"""What a running handler asks of the journal of its job.

Each answer is a future: a handler in a thread waits for it, and one on an event loop awaits it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from headway.domain.steps import Step
from headway.protocol.work_values import StepAnswer, StepReport

if TYPE_CHECKING:
    from concurrent.futures import Future


class Journal(Protocol):
    """The journals of the jobs whose runs are in this process."""

    def now(self) -> datetime:
        """The time, for steps that begin and for sleeps that may be over."""

    def read(self, lease_id: str) -> "Future[Sequence[Step]]":
        """A journal that was too large to come with the claim."""

    def record(self, report: StepReport) -> "Future[StepAnswer]":
        """Record a step; it is on disk when there is an answer without an error."""

    def take_signal(self, lease_id: str, name: str, index: int) -> "Future[Step | None]":
        """Take a signal that has come, if there is one."""


class StepKeeper(Protocol):
    """Where journals are kept: a scheduler in this process, or a server."""

    def journal(self, lease_id: str) -> Sequence[Step]:
        """The journal of the job of a lease."""

    def record_steps(self, done: Sequence[StepReport]) -> list[StepAnswer]:
        """Record steps of several runs in one go."""

    def take_signal(self, lease_id: str, name: str, index: int) -> Step | None:
        """Take a signal that has come, if there is one."""


def promise() -> "Future[Any]":
    """A future that is always answered: it cannot be cancelled."""
    from concurrent.futures import Future  # a child process of a plain handler starts without

    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
