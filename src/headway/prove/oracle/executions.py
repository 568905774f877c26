"""Whether anything was executed twice, or out of order. Pure."""

import itertools
from collections import defaultdict
from collections.abc import Iterator

from headway.prove import requests
from headway.prove.oracle import findings
from headway.prove.oracle.findings import Finding
from headway.prove.oracle.history import Execution, History
from headway.prove.oracle.outcome import Outcome


def judge_executions(history: History, outcome: Outcome) -> Iterator[Finding]:
    """No run twice, no two of a chain at once, none after a success, no success without one."""
    yield from _runs_twice(history)
    completed = {run.run_id for run in outcome.runs if run.status == "COMPLETED"}
    chains = {job.job_id: job.chain_id for job in outcome.jobs}
    by_chain: dict[str, list[Execution]] = defaultdict(list)
    for one in history.executions:
        by_chain[chains.get(one.job_id, one.job_id)].append(one)
    for executions in by_chain.values():
        yield from _in_chain(executions, completed)
    executed = {one.run_id for one in history.executions if one.is_whole}
    for run_id in completed - executed:
        yield Finding(findings.LOST, f"run {run_id} is COMPLETED and was never executed to its end")


def repeated(history: History, outcome: Outcome) -> int:
    """How many executions a kill cut off or kept from being reported: their retry follows."""
    completed = {run.run_id for run in outcome.runs if run.status == "COMPLETED"}
    unfinished = [one for one in history.executions if one.run_id not in completed]
    return sum(not one.is_whole or _succeeds(one) for one in unfinished)


def _succeeds(execution: Execution) -> bool:
    return requests.kind_of(execution.key) not in (requests.FLAKY, requests.HOPELESS)


def _runs_twice(history: History) -> Iterator[Finding]:
    begun: set[str] = set()
    for one in history.executions:
        if one.run_id in begun:
            yield Finding(findings.DOUBLED, f"run {one.run_id} of {one.key} was executed twice")
        begun.add(one.run_id)


def _in_chain(executions: list[Execution], completed: set[str]) -> Iterator[Finding]:
    for one, following in itertools.pairwise(executions):
        if following.begin < one.until:
            yield Finding(
                findings.DOUBLED,
                f"{one.key}: run {following.run_id} began while run {one.run_id} was executed",
            )
        if one.run_id in completed:
            yield Finding(
                findings.DOUBLED, f"{one.key} was executed again after run {one.run_id} succeeded"
            )


def judge_order(history: History) -> Iterator[Finding]:
    """In the queue with one slot: who was acknowledged before another was submitted goes first."""
    begun = [one for one in history.executions if requests.kind_of(one.key) == requests.LINE]
    latest: Execution | None = None
    for one in begun:
        acknowledged = history.acknowledged.get(one.key)
        if latest is None:
            latest = one
            continue
        if acknowledged is not None and acknowledged < history.asked.get(latest.key, 0):
            yield Finding(findings.ORDER, f"{latest.key} was started before {one.key}")
        if history.asked.get(one.key, 0) > history.asked.get(latest.key, 0):
            latest = one
