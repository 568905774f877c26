"""What clients ask for: jobs with every kind of gate, of a world so small that they collide."""

from typing import Any

import msgspec
from tests.simulation.chooser import Chooser

from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.steps import StepKind, Wait

TYPES = ("cook", "clean", "count")
QUEUES = ("default", "slow")
LOCKS = ("stove", "table")
MARKERS = ("custom:dish:soup", "custom:dish:bread")
LIMITS = ("guests", "plates")
UNIQUE = ("morning", "evening")
TEMPLATES = ("daily", "hourly")
POLICIES = ("success", "success", "finished", "failure")
KEYS = ("k1", "k2", "k3")


def job(chooser: Chooser, known: list[int], defined: list[str], **more: Any) -> BatchJobRequest:
    """One job; `known` may be waited for, and `defined` limits be used."""
    fields: dict[str, Any] = {"params": {"n": chooser.number(0, 9)}}
    if chooser.chance(0.1):
        fields["template"] = chooser.one(TEMPLATES)
    else:
        fields["job_type"] = chooser.one(TYPES)
    for field, (probability, draw) in FIELDS.items():
        if chooser.chance(probability):
            fields[field] = draw(chooser)
    if known and chooser.chance(0.25):
        fields["after"] = [
            {"job": number, "policy": chooser.one(POLICIES)} for number in chooser.some(known, 2)
        ]
    if defined and chooser.chance(0.2):
        fields["limits"] = {chooser.one(defined): 1}
    if "dedup_key" in fields:
        fields["dedup_window_s"] = 60.0
    return msgspec.convert({**fields, **more}, BatchJobRequest)


def batch(chooser: Chooser, known: list[int], defined: list[str]) -> list[BatchJobRequest]:
    """A small DAG: each job may wait for earlier ones of the batch."""
    wanted: list[BatchJobRequest] = []
    for place in range(chooser.number(2, 5)):
        earlier = [f"ref:{ref}" for ref in range(place)]
        after = [{"job": ref, "policy": chooser.one(POLICIES)} for ref in chooser.some(earlier, 2)]
        wanted.append(job(chooser, known, defined, ref=str(place), after=after))
    return wanted


def _locks(chooser: Chooser) -> list[dict[str, str]]:
    modes = ("exclusive", "shared")
    return [{"key": key, "mode": chooser.one(modes)} for key in chooser.some(LOCKS, 2)]


FIELDS: dict[str, tuple[float, Any]] = {
    "queue": (0.3, lambda chooser: chooser.one(QUEUES)),
    "priority": (0.3, lambda chooser: chooser.one((-10, 0, 10))),
    "delay_s": (0.15, lambda chooser: float(chooser.number(1, 90))),
    "locks": (0.25, _locks),
    "needs": (0.12, lambda chooser: [chooser.one(MARKERS)]),
    "produces": (0.15, lambda chooser: [chooser.one(MARKERS)]),
    "missing_producer": (0.5, lambda chooser: chooser.one(("wait", "block"))),
    "approval": (0.08, lambda _: True),
    "requires": (0.1, lambda _: ["gpu"]),
    "cost_units": (0.1, lambda chooser: chooser.number(0, 60)),
    "timeout_s": (0.1, lambda chooser: float(chooser.number(5, 60))),
    "unique_key": (0.1, lambda chooser: chooser.one(UNIQUE)),
    "dedup_key": (0.06, lambda chooser: chooser.one(UNIQUE)),
    "retry_policy": (
        0.8,
        lambda chooser: {"max_attempts": chooser.number(0, 2), "base_delay_s": 5.0},
    ),
    "webhook_url": (0.08, lambda _: "http://endpoint.example/job"),
}


def keyed(key: str) -> BatchJobRequest:
    """What a client asks for under this idempotency key: always the same."""
    place = KEYS.index(key)
    fields = {
        "job_type": TYPES[place],
        "locks": [LOCKS[0]] if place else [],
        "idempotency_key": key,
    }
    return msgspec.convert(fields, BatchJobRequest)


def wait(chooser: Chooser, defined: list[str]) -> Wait:
    """What a program waits for."""
    kind = chooser.one((StepKind.SLEEP, StepKind.SIGNAL, StepKind.SIGNAL, StepKind.CHILDREN))
    if kind is StepKind.CHILDREN:
        children = tuple(job(chooser, [], defined) for _ in range(chooser.number(1, 3)))
        return Wait(kind=kind, name="children", children=children)
    seconds = float(chooser.number(0, 60))
    if kind is StepKind.SIGNAL:
        return Wait(kind=kind, name="go", delay_s=seconds if chooser.chance(0.6) else None)
    return Wait(kind=kind, name="sleep", delay_s=seconds)
