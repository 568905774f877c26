"""How a worker talks to its scheduler: the same verbs in the same process or over HTTP."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from headway.domain.steps import Step
from headway.domain.workers import Abilities, DataDirectory
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import (
    BeatAnswer,
    Denied,
    Granted,
    Report,
    ReportAnswer,
    Started,
    StepAnswer,
    StepReport,
)


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a worker and the jobs it takes."""

    worker_id: str
    host: str
    pid: int
    process_started: str
    abilities: Abilities
    slots: int
    home: DataDirectory | None = None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that were claimed, at this time or later on the monotonic clock."""

    jobs: list[Started]
    since: float
    reported: list[ReportAnswer] | None = None
    """What became of the reports that went along with the claim; None: they were not taken."""
    drain: bool = False
    """Whether this worker is to take no more jobs, finish those that it has, and leave."""


class Transport(Protocol):
    """The connection to the scheduler. A call that raises `Unavailable` is tried again."""

    takes_reports: bool
    """Whether a claim can take reports along, to be written in the same transaction."""

    claims_wait: bool
    """Whether a claim may take long: reports that come meanwhile do not wait for the next one."""

    def register(self) -> None:
        """Register the worker, and renew its registration."""

    def claim(
        self,
        count: int,
        *,
        lease: bool,
        reports: Sequence[Report],
        holds: Collection[str] | None = None,
    ) -> Taken:
        """Jobs to do; may wait for some. `holds` is what this worker knows that it holds."""

    def wait(self) -> None:
        """Sleep until there may be something to claim."""

    def poke(self) -> None:
        """Stop sleeping, this once."""

    def wake(self) -> None:
        """Stop sleeping, now and from now on."""

    def prepare(self, job_id: str) -> None:
        """The runtime for a claimed job is being set up."""

    def request_lease(self, job_id: str) -> Granted | Denied:
        """Ask to start a claimed job."""

    def heartbeat(self, beats: Sequence[HeartbeatItem]) -> list[BeatAnswer]:
        """Keep leases alive."""

    def release(self, reports: Sequence[Report]) -> list[ReportAnswer]:
        """Report how runs ended."""

    def journal(self, lease_id: str) -> Sequence[Step]:
        """The journal of the job of a lease, if it was too large for the claim."""

    def record_steps(self, done: Sequence[StepReport]) -> list[StepAnswer]:
        """Record steps in the journals of their jobs; they are on disk when this returns."""

    def take_signal(self, lease_id: str, name: str, index: int) -> Step | None:
        """Take a signal that has come, if there is one."""

    def on_cancel(self, tell: Callable[[], None]) -> None:
        """Call this when a running job is to end, if the transport can notify."""

    def close(self) -> None:
        """Deregister the worker."""
