"""What the ledgers say, in order: who asked for what, and what was executed when."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from headway.prove import ledger
from headway.prove.ledger import Fact


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One execution. `until` is its end, the kill of its process, or else only its begin."""

    key: str
    job_id: str
    run_id: str
    begin: int
    until: int
    is_whole: bool


class History(msgspec.Struct, frozen=True, kw_only=True):
    """All ledgers together."""

    asked: dict[str, int]
    acknowledged: dict[str, int]
    """By key: when a client knew."""

    approved: dict[str, int]
    """By key: when a job was first to be approved."""

    jobs: dict[str, set[str]]
    """By key: the jobs that were acknowledged to clients."""

    groups: set[str]
    seen: dict[str, str]
    """By job: the end that a client saw."""

    finished: dict[str, Fact]
    """By run: a report that was accepted."""

    executions: list[Execution]
    """In the order in which they began."""

    told: set[str]
    """Runs of whose end a webhook told."""


def read(facts: Iterable[Fact]) -> History:
    """The history that facts tell."""
    facts = sorted(facts, key=lambda one: one.at)
    acknowledged = [one for one in facts if one.what == ledger.ACKNOWLEDGED]
    jobs: dict[str, set[str]] = defaultdict(set)
    for one in acknowledged:
        if one.job_id:
            jobs[one.key].add(one.job_id)
    return History(
        asked={one.key: one.at for one in reversed(facts) if one.what == ledger.ASKED},
        acknowledged={one.key: one.at for one in reversed(acknowledged)},
        approved={one.key: one.at for one in reversed(facts) if one.what == ledger.APPROVES},
        jobs=jobs,
        groups={one.group_id for one in acknowledged if one.group_id},
        seen={one.job_id: one.status for one in facts if one.what == ledger.SEEN},
        finished={one.run_id: one for one in facts if one.what == ledger.FINISHED},
        executions=_executions(facts),
        told={one.run_id for one in facts if one.what == ledger.TOLD},
    )


def _executions(facts: list[Fact]) -> list[Execution]:
    ends = {(one.pid, one.run_id): one.at for one in facts if one.what == ledger.END}
    kills: dict[int, list[int]] = defaultdict(list)
    for one in facts:
        if one.what == ledger.KILLED:
            kills[int(one.job_id)].append(one.at)

    def until(begin: Fact) -> int:
        end = ends.get((begin.pid, begin.run_id))
        after = [at for at in kills[begin.pid] if at > begin.at]
        return end if end is not None else min(after, default=begin.at)

    return [
        Execution(
            key=one.key,
            job_id=one.job_id,
            run_id=one.run_id,
            begin=one.at,
            until=until(one),
            is_whole=(one.pid, one.run_id) in ends,
        )
        for one in facts
        if one.what == ledger.BEGIN
    ]
