"""What every verb needs: the store, time, chance, and the points where users plug in."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from headway.domain import artifacts
from headway.domain.handlers import Handler
from headway.domain.leases import CLAIM_TTL_S, DEFAULT_TTL_S
from headway.domain.manage import limits
from headway.domain.manage.groups import AsConfigured, GroupFailurePolicy
from headway.domain.manage.limits import ConcurrencyPolicy, StandardPolicy
from headway.domain.secrets import SECRET_PARAMS
from headway.domain.values import ids
from headway.files.log_parts import OutputBound
from headway.live_threads import LiveThreads
from headway.scheduler.observations import Observations
from headway.scheduler.waiting_counts import WaitingCounts
from headway.storage.engine.store import Clock, Store
from headway.workspace import Workspace

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The numbers that can be configured."""

    lease_ttl_s: float = DEFAULT_TTL_S
    claim_ttl_s: float = CLAIM_TTL_S
    starvation_s: float = limits.STARVATION_S
    largest_params: int = MIB
    largest_result: int = MIB
    largest_batch: int = 64 * MIB
    probe_every_s: float = 1.0
    allow_commands: bool = True
    secret_params: tuple[str, ...] = SECRET_PARAMS
    webhook_targets: str = "any"
    retention_s: float | None = None
    """How long a server keeps what has ended; None for ever."""


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """Handed to every verb. The database is the truth; what is kept here may be thrown away."""

    store: Store
    clock: Clock
    workspace: Workspace
    data: Path
    data_id: str | None = None
    server: str | None = None
    chance: random.Random = field(default_factory=random.Random)
    rules: Rules = field(default_factory=Rules)
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: artifacts.Kinds = field(default_factory=artifacts.kinds)
    concurrency: ConcurrencyPolicy = field(default_factory=StandardPolicy)
    group_failure: GroupFailurePolicy = field(default_factory=AsConfigured)
    seen: Observations = field(default_factory=Observations)
    waiting: WaitingCounts = field(default_factory=WaitingCounts)
    output: OutputBound = field(default_factory=OutputBound)
    threads: LiveThreads = field(default_factory=LiveThreads)
    is_process_alive: Callable[[str, int, str], bool] = lambda *_: True
    """Whether a worker's process is alive, as far as this machine can see."""

    def new_id(self, now: datetime) -> str:
        """A new public id."""
        return ids.uuid7(now, self.chance)
