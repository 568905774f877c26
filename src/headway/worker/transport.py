"""How a worker talks to its scheduler: the same verbs in the same process or over HTTP."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from typing import Protocol

import msgspec

from headway.domain import errors
from headway.domain.runs import Outcome
from headway.domain.workers import Abilities, DataHome
from headway.protocol.work_shapes import BeatAnswer, Denied, Granted, HeartbeatItem, Started


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a worker and the jobs it takes."""

    worker_id: str
    host: str
    pid: int
    process_started: str
    abilities: Abilities
    slots: int
    home: DataHome | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended here."""

    lease_id: str
    outcome: Outcome


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A report that was not accepted; None means that it was."""

    lease_id: str
    error: errors.HeadwayError | None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that were claimed, at this time or later on the monotonic clock."""

    jobs: list[Started]
    since: float
    reported: "Future[list[Refusal]] | None" = None
    """What became of the reports that went along with the claim."""
    drain: bool = False
    """Whether this worker is to take no more jobs, finish those that it has, and leave."""


class Transport(Protocol):
    """The way to the scheduler. Every call may raise `Unavailable`: then it is tried again."""

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
        ended: Sequence[Ended],
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

    def release(self, ended: Sequence[Ended]) -> list[Refusal]:
        """Report how runs ended."""

    def on_cancel(self, tell: Callable[[], None]) -> None:
        """Call this when a running job is to end, if the transport can notify."""

    def close(self) -> None:
        """Say goodbye."""
