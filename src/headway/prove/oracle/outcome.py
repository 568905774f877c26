"""What the store says in the end, read over HTTP."""

from typing import Any

import msgspec

from headway.prove.asking import Servers


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as its last state tells."""

    job_id: str
    number: int
    status: str
    chain_id: str
    attempt: int
    idempotency_key: str | None
    retry_of: str | None
    retried_by: str | None
    permanently_failed: bool
    schedule_id: str | None
    fire_time: str | None
    generation: int
    params: dict[str, Any]

    @property
    def key(self) -> str:
        """The key it was submitted with; a retry has the key of its first job here."""
        return str(self.params.get("key", ""))


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it is recorded."""

    run_id: str
    job_id: str
    status: str | None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the store holds."""

    jobs: list[Job]
    runs: list[Run]
    groups: dict[str, str]
    messages: dict[str, str]
    """By run: how its message to the endpoint stands."""
    every_s: float
    """The period of the schedule."""


def read(servers: Servers, schedule: dict[str, Any]) -> Outcome:
    """Everything, page by page."""
    return Outcome(
        jobs=[msgspec.convert(one, Job) for one in servers.pages("/api/jobs")],
        runs=[msgspec.convert(one, Run) for one in servers.pages("/api/job-runs")],
        groups={one["group_id"]: one["status"] for one in servers.pages("/api/job-groups")},
        messages={
            str(one["payload"]["run_id"]): one["status"]
            for one in servers.pages("/api/webhook-deliveries")
        },
        every_s=float(schedule["every"]),
    )
