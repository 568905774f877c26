"""Workers: who can take which jobs."""

from collections.abc import Callable, Collection
from datetime import datetime

import msgspec

from headway.domain.jobs import COMMAND, Lane


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker takes. No queues or job types given means all of them."""

    queues: tuple[str, ...] | None = None
    job_types: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = ()
    max_cost_units: int | None = None

    @property
    def takes(self) -> Callable[[Lane], bool]:
        """Says whether jobs of a lane are for this worker; for many lanes, `refusal` is slow."""
        queues = None if self.queues is None else frozenset(self.queues)
        job_types = None if self.job_types is None else frozenset(self.job_types)
        capabilities = frozenset(self.capabilities)
        most = self.max_cost_units

        def fits(lane: Lane) -> bool:
            return (
                (queues is None or lane.queue in queues)
                and (job_types is None or lane.job_type in job_types)
                and capabilities.issuperset(lane.requires)
                and (most is None or lane.cost_units <= most)
            )

        return fits

    def refusal(self, lane: Lane) -> str | None:
        """Why jobs of this lane are not for this worker, or None if they are."""
        if self.queues is not None and lane.queue not in self.queues:
            return f"serves only {_listed(self.queues)}"
        if self.job_types is not None and lane.job_type not in self.job_types:
            if lane.job_type == COMMAND:
                return "runs no commands"
            return f"has no handler for {lane.job_type}"
        if lacking := [word for word in lane.requires if word not in self.capabilities]:
            return f"lacks {_listed(lacking)}"
        if self.max_cost_units is not None and lane.cost_units > self.max_cost_units:
            return f"takes jobs of at most {self.max_cost_units} cost units"
        return None


class DataDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """The data directory of a process that runs jobs, and its server's address, if it is one."""

    data_id: str
    data: str
    url: str | None = None


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as it is shown, with what it holds; one that is gone never comes back.

    One that is drained finishes what it holds and takes nothing more.
    """

    worker_id: str
    host: str
    pid: int
    process_started: str
    built_in: bool
    queues: tuple[str, ...] | None
    job_types: tuple[str, ...] | None
    capabilities: tuple[str, ...]
    slots: int
    first_seen: datetime
    last_seen: datetime
    max_cost_units: int | None = None
    alive: bool = True
    gone: bool = False
    holds: tuple[str, ...] = ()
    full_since: datetime | None = None
    draining_since: datetime | None = None

    @property
    def abilities(self) -> Abilities:
        """What it takes."""
        return Abilities(
            queues=self.queues,
            job_types=self.job_types,
            capabilities=self.capabilities,
            max_cost_units=self.max_cost_units,
        )

    @property
    def is_full(self) -> bool:
        """Whether it holds as many jobs as it has slots."""
        return len(self.holds) >= self.slots


def served_types(handlers: Collection[str], commands: bool) -> tuple[str, ...]:
    """The job types a worker with these handlers takes."""
    return tuple(sorted({*handlers, COMMAND} if commands else set(handlers)))


def _listed(words: Collection[str]) -> str:
    return ", ".join(words) or "nothing"
