"""The oracle: what was acknowledged and executed, against what the store says. Pure."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from headway.prove import requests
from headway.prove.oracle import findings
from headway.prove.oracle.executions import judge_executions, judge_order
from headway.prove.oracle.findings import Finding
from headway.prove.oracle.gates import judge_gates
from headway.prove.oracle.history import History
from headway.prove.oracle.outcome import Job, Outcome

ENDED = frozenset(
    ["SUCCEEDED", "FAILED", "SKIPPED", "TIMEOUT", "CANCELLED", "BLOCKED_BY_DEPENDENCY"]
)
FAILED = ("FAILED", "TIMEOUT")
RUN_ENDS = ("COMPLETED", "FAILED")


def judge(history: History, outcome: Outcome, *, all_ended: bool = True) -> list[Finding]:
    """Everything that is wrong; jobs may still be active if `all_ended` is not asked for."""
    chains = chains_of(outcome)
    found = [
        *_submits(history, outcome),
        *_finishes(history, outcome),
        *judge_executions(history, outcome),
        *judge_order(history),
        *judge_gates(history),
        *_fires(outcome),
        *_retries(chains, all_ended=all_ended),
        *_graphs(history, outcome),
    ]
    if all_ended:
        found += [*_stuck(outcome), *_ends(chains), *_groups(history, outcome)]
        found += _untold(history, outcome)
    return found


def chains_of(outcome: Outcome) -> dict[str, list[Job]]:
    """Every job with its retries, first to last."""
    chains: dict[str, list[Job]] = defaultdict(list)
    for job in sorted(outcome.jobs, key=lambda one: one.number):
        chains[job.chain_id].append(job)
    return dict(chains)


def _submits(history: History, outcome: Outcome) -> Iterator[Finding]:
    known = {job.job_id for job in outcome.jobs}
    for key, told in history.jobs.items():
        for job_id in told - known:
            yield Finding(findings.LOST, f"{key} was acknowledged as job {job_id}, which is gone")
        if len(told) > 1:
            yield Finding(findings.DOUBLED, f"{key} was acknowledged as {len(told)} jobs")
    keys = Counter(job.key for job in outcome.jobs if job.retry_of is None and not job.schedule_id)
    for key, count in keys.items():
        if count > 1:
            yield Finding(findings.DOUBLED, f"{key} was submitted once and is {count} jobs")
        if key not in history.asked:
            yield Finding(findings.DOUBLED, f"{key} was never submitted")


def _finishes(history: History, outcome: Outcome) -> Iterator[Finding]:
    statuses = {job.job_id: job for job in outcome.jobs}
    for job_id, status in history.seen.items():
        job = statuses.get(job_id)
        now = "gone" if job is None else job.status
        if now != status:
            yield Finding(findings.LOST, f"job {job_id} had ended as {status} and is {now}")
    runs = {run.run_id: run.status for run in outcome.runs}
    for run_id, fact in history.finished.items():
        now = runs.get(run_id) or "not recorded"
        if now != fact.status:
            yield Finding(
                findings.LOST,
                f"the finish of {fact.key} (run {run_id}) was acknowledged and is {now}",
            )


def _fires(outcome: Outcome) -> Iterator[Finding]:
    times = Counter(job.fire_time for job in outcome.jobs if job.fire_time and not job.retry_of)
    for time, count in times.items():
        if count > 1:
            yield Finding(findings.FIRES, f"the schedule fired {count} times for {time}")
    fired = sorted(datetime.fromisoformat(time) for time in times if time)
    period = timedelta(seconds=outcome.every_s)
    for one, following in itertools.pairwise(fired):
        if following - one != period:
            yield Finding(findings.FIRES, f"no fire between {one} and {following}")


def _retries(chains: dict[str, list[Job]], *, all_ended: bool) -> Iterator[Finding]:
    for chain in chains.values():
        attempts = [job.attempt for job in chain]
        if attempts != list(range(len(chain))):
            yield Finding(findings.RETRIES, f"{chain[0].key} has the attempts {attempts}")
        for job in chain[:-1]:
            if job.status not in FAILED:
                yield Finding(findings.RETRIES, f"{job.key} is {job.status} and was tried again")
        last = chain[-1]
        kind = requests.kind_of(last.key)
        if (
            all_ended
            and kind == requests.HOPELESS
            and (len(chain) != 2 or not last.permanently_failed)
        ):
            yield Finding(
                findings.RETRIES, f"{last.key} gives up after 2 attempts and had {len(chain)}"
            )


def _ends(chains: dict[str, list[Job]]) -> Iterator[Finding]:
    """A job succeeds in the end, except those that cannot and those that are tried once."""
    for chain in chains.values():
        last = chain[-1]
        allowed = {
            requests.HOPELESS: FAILED,
            requests.LINE: ("SUCCEEDED", *FAILED),
        }.get(requests.kind_of(last.key), ("SUCCEEDED",))
        if last.status in ENDED and last.status not in allowed:
            yield Finding(findings.LOST, f"{last.key} (job {last.number}) ended as {last.status}")


def _stuck(outcome: Outcome) -> Iterator[Finding]:
    for job in outcome.jobs:
        if job.status not in ENDED:
            yield Finding(findings.STUCK, f"{job.key} (job {job.number}) is still {job.status}")


def _untold(history: History, outcome: Outcome) -> Iterator[Finding]:
    """Every run that ended has a message to the endpoint; what counts as delivered arrived."""
    for run in outcome.runs:
        message = outcome.messages.get(run.run_id)
        if run.status not in RUN_ENDS or message == "PENDING":
            continue
        if message is None:
            yield Finding(findings.LOST, f"run {run.run_id} ended, and no webhook is to tell of it")
        elif run.run_id not in history.told:
            yield Finding(findings.LOST, f"the webhook of run {run.run_id} is {message}, untold")


def _graphs(history: History, outcome: Outcome) -> Iterator[Finding]:
    """No member of a graph or a sequence begins before what it comes after has succeeded."""
    completed = {run.run_id for run in outcome.runs if run.status == "COMPLETED"}
    done: dict[str, int] = {}
    begun: dict[str, int] = {}
    for one in history.executions:
        begun.setdefault(one.key, one.begin)
        if one.run_id in completed:
            done[one.key] = one.until
    for key, begin in begun.items():
        for earlier in _predecessors(key):
            if begin < done.get(earlier, begin + 1):
                yield Finding(findings.GRAPHS, f"{key} began before {earlier} had succeeded")


def _predecessors(key: str) -> list[str]:
    stem, _, place = key.rpartition("/")
    kind = requests.kind_of(key)
    if kind == requests.GRAPH:
        before = {"a": "", "b": "a", "c": "a", "d": "bc"}[place]
        return [f"{stem}/{one}" for one in before]
    if kind == requests.ARTIFACT:
        return [f"{stem}/{requests.MADE}"] if place == requests.USED else []
    if kind == requests.GROUP and place != "0":
        return [f"{stem}/{int(place) - 1}"]
    return []


def _groups(history: History, outcome: Outcome) -> Iterator[Finding]:
    for group_id in history.groups:
        status = outcome.groups.get(group_id, "gone")
        if status != "COMPLETED":
            yield Finding(findings.GROUPS, f"group {group_id} was acknowledged and is {status}")
