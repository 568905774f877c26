"""Whether locks, limits and approvals were kept. Pure."""

from collections.abc import Iterator

from headway.prove import requests
from headway.prove.oracle import findings
from headway.prove.oracle.findings import Finding
from headway.prove.oracle.history import History

MOST_AT_ONCE = {requests.LOCKED: 1, requests.LIMITED: requests.MOST_AT_ONCE}
"""How many executions of a kind there may be at a time."""


def judge_gates(history: History) -> Iterator[Finding]:
    """Never more at once than a lock or a limit allows, and none before it was approved."""
    for kind, most in MOST_AT_ONCE.items():
        yield from _at_once(history, kind, most)
    for one in history.executions:
        if requests.kind_of(one.key) != requests.APPROVED:
            continue
        if one.begin < history.approved.get(one.key, one.begin + 1):
            yield Finding(findings.GATES, f"{one.key} began before it was approved")


def _at_once(history: History, kind: str, most: int) -> Iterator[Finding]:
    running: list[int] = []
    for one in history.executions:
        if requests.kind_of(one.key) != kind:
            continue
        running = [until for until in running if until > one.begin]
        if len(running) >= most:
            yield Finding(
                findings.GATES,
                f"{one.key} (run {one.run_id}) began beside {len(running)} others of its kind",
            )
        running.append(one.until)
