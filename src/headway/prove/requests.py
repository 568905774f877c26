"""What clients submit. The first part of a key says which kind of job it belongs to."""

import random
from typing import Any

PLAIN = "plain"
FLAKY = "flaky"
HOPELESS = "hopeless"
APART = "apart"
REMOTE = "remote"
LINE = "line"
GRAPH = "graph"
GROUP = "group"
FIRE = "fire"
LOCKED = "locked"
LIMITED = "limited"
APPROVED = "approved"
ARTIFACT = "artifact"

MADE, USED = "made", "used"
LIMIT = "prove"
MOST_AT_ONCE = 2
"""The size of the limit."""

RETRIED = {"max_attempts": 50, "base_delay_s": 0.05, "max_delay_s": 0.2, "max_crashes": 50}
"""More attempts than there can be kills of one job."""

GIVES_UP = {"max_attempts": 1, "base_delay_s": 0.05, "max_delay_s": 0.2}
ONCE = {"max_attempts": 0}
TYPES = {APART: "apart", REMOTE: "remote"}
LONGEST_MS = 40
PRIORITIES = (0, 0, 10)


def kind_of(key: str) -> str:
    """The kind that a key belongs to."""
    return key.partition("/")[0]


def single(kind: str, key: str, chance: random.Random) -> dict[str, Any]:
    """One job of a kind."""
    params: dict[str, Any] = {"key": key, "ms": chance.randrange(LONGEST_MS)}
    made: dict[str, Any] = {
        "job_type": TYPES.get(kind, "work"),
        "params": params,
        "idempotency_key": key,
        "retry_policy": RETRIED,
        "priority": chance.choice(PRIORITIES),
    }
    if kind == FLAKY:
        params["fails"] = chance.randint(1, 2)
    if kind == HOPELESS:
        params["fails"] = 100
        made["retry_policy"] = GIVES_UP
    if kind == LOCKED:
        made["locks"] = ["prove"]
    if kind == LIMITED:
        made["limits"] = {LIMIT: 1}
    if kind == APPROVED:
        made["approval"] = True
    if kind == LINE:
        made |= {"queue": "line", "requires": ["line"], "retry_policy": ONCE, "priority": 0}
    return made


def diamond(key: str, chance: random.Random) -> list[dict[str, Any]]:
    """Four jobs: the first, two after it, and one after both."""
    after: dict[str, list[str]] = {
        "a": [],
        "b": ["ref:a"],
        "c": ["ref:a"],
        "d": ["ref:b", "ref:c"],
    }
    return [
        {**single(GRAPH, f"{key}/{ref}", chance), "ref": ref, "after": predecessors}
        for ref, predecessors in after.items()
    ]


def handed_on(key: str, chance: random.Random) -> list[dict[str, Any]]:
    """Two jobs: one makes what the other needs."""
    artifact = f"custom:prove:{key.replace('/', '-')}"
    return [
        {**single(ARTIFACT, f"{key}/{MADE}", chance), "produces": [artifact]},
        {**single(ARTIFACT, f"{key}/{USED}", chance), "needs": [artifact]},
    ]


def sequence(key: str, chance: random.Random) -> dict[str, Any]:
    """A group of three jobs, one after another."""
    return {
        "name": key,
        "mode": "sequential",
        "jobs": [single(GROUP, f"{key}/{place}", chance) for place in range(3)],
    }
