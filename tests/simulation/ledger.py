"""The model: what was acknowledged, and which executions are going on, whatever the store says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.domain.runs import RunStatus
from headway.domain.steps import Step, StepKind

StepKey = tuple[StepKind, str, int]


class Broken(AssertionError):
    """A promise was not kept."""


@dataclass
class Execution:
    """Somebody executes a run until it ends, its worker stops it in time, or the process dies."""

    lease_id: str
    number: int
    chain: int
    worker_id: str
    fence: float
    """When the worker stops it by itself unless its lease is renewed, in elapsed seconds."""


@dataclass
class Ledger:
    """What clients and workers were told, and may rely on."""

    submitted: dict[int, str] = field(default_factory=dict)
    """Jobs by number, with their ids."""
    keys: dict[str, int] = field(default_factory=dict)
    """The job that each idempotency key stands for."""
    finished: dict[str, RunStatus] = field(default_factory=dict)
    """Runs whose end was acknowledged."""
    cancelled: set[tuple[int, int]] = field(default_factory=set)
    """Jobs of which it was acknowledged that they are cancelled, with their generation."""
    retried_by_hand: set[int] = field(default_factory=set)
    """Jobs for which somebody asked for another try, acknowledged or not."""
    hopeless: set[tuple[int, int]] = field(default_factory=set)
    """Jobs whose worker said that another try is no use, acknowledged, with their generation."""
    executions: dict[str, Execution] = field(default_factory=dict)
    """What is being executed right now, by lease."""
    changed_schedules: set[str] = field(default_factory=set)
    """Schedules that somebody switched off or on or removed, acknowledged or not."""
    wrongs: list[str] = field(default_factory=list)
    """What was seen to go wrong where no exception gets through."""
    steps: dict[tuple[int, int], dict[StepKey, Any]] = field(default_factory=dict)
    """What programs were told to be in their journals, by chain and generation."""
    received: set[str] = field(default_factory=set)
    """Deliveries that an endpoint got."""

    def acknowledge_submit(self, number: int, job_id: str, key: str | None) -> None:
        """A client was told that its job is stored."""
        known = self.submitted.setdefault(number, job_id)
        if known != job_id:
            raise Broken(f"job {number} was acknowledged as {known} and as {job_id}")
        if key is not None and self.keys.setdefault(key, number) != number:
            raise Broken(f"key {key} stands for jobs {self.keys[key]} and {number}")

    def begin(self, execution: Execution) -> None:
        """A worker begins to execute a run."""
        for other in self.executions.values():
            if other.lease_id == execution.lease_id:
                raise Broken(f"run of job {execution.number} is executed twice")
            if other.chain == execution.chain:
                raise Broken(
                    f"jobs {other.number} ({other.worker_id}) and {execution.number}"
                    f" ({execution.worker_id}) of one chain are executed at the same time"
                )
        self.executions[execution.lease_id] = execution

    def know_steps(self, chain: int, generation: int, journal: Sequence[Step]) -> None:
        """A run begins with this journal: all that was acknowledged must be in it, as it was."""
        given = {(one.kind, one.name, one.index): one.result for one in journal}
        for key, result in self.steps.get((chain, generation), {}).items():
            if key not in given:
                raise Broken(f"step {key} of job {chain} was acknowledged and is gone")
            if given[key] != result:
                raise Broken(f"step {key} of job {chain} was {result} and is {given[key]}")

    def end(self, lease_id: str) -> None:
        """An execution is over."""
        self.executions.pop(lease_id, None)

    def fence(self, elapsed: float) -> list[Execution]:
        """Stop what should have been renewed by now; returns it."""
        late = [one for one in self.executions.values() if one.fence <= elapsed]
        for one in late:
            self.end(one.lease_id)
        return late
