"""Every change of a job's status is looked up in the table of legal moves."""

import ast
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from tests.helpers import WORKER, ask_lease, claim, finish, job, submit

import headway
from headway.domain import errors, states
from headway.domain.workers import Abilities
from headway.scheduler.claim import start
from headway.scheduler.claim.pick import Candidate, ClaimRequest
from headway.scheduler.lease import leases
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, queries
from headway.storage.transaction import Transaction

SOURCE = Path(str(resources.files(headway)))
RECORDER = ("jobs.py", "end")
"""It runs a query for others, who call it and check."""


def sets_status(query: str) -> bool:
    """Whether a query sets the status of jobs."""
    assigned = query.partition("UPDATE jobs SET ")[2].partition("WHERE")[0]
    return re.search(r"\bstatus = ", assigned) is not None


def writers() -> Iterator[tuple[str, str, bool]]:
    """Functions that set a status: where, which, and whether they check it."""
    setting = {
        name
        for dialect in ("sqlite", "postgres")
        for name, text in queries.load(f"headway.storage.{dialect}").items()
        if sets_status(text)
    }
    for path in sorted(SOURCE.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            nodes = list(ast.walk(function))
            texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
            called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
            if (path.name, function.name) == RECORDER:
                continue
            if texts & setting or "jobs.end" in called:
                checks = bool({"states.check", "states.check_all"} & called)
                yield path.name, function.name, checks


def test_who_sets_a_status_checks_the_move() -> None:
    found = list(writers())
    assert len(found) == 8
    assert [one for one in found if not one[2]] == []


@pytest.mark.parametrize("lease", [True, False])
def test_what_has_ended_is_not_started(scheduler: Scheduler, lease: bool) -> None:
    submit(scheduler)
    finish(scheduler, claim(scheduler))

    def work(tx: Transaction) -> None:
        record = jobs.read_one(tx, 1)
        lane = jobs.lanes(tx, [record.lane_id])[record.lane_id]
        wanted = ClaimRequest(worker_id=WORKER, abilities=Abilities())
        chosen = [Candidate(job=record, lane=lane)]
        if lease:
            start.start(scheduler, tx, wanted, chosen, {})
        else:
            start.claim(scheduler, tx, wanted, chosen)

    with pytest.raises(errors.IllegalMove, match="is SUCCEEDED and cannot become"):
        scheduler.store.write(work)
    assert job(scheduler, 1).status is states.SUCCEEDED


def test_who_waits_for_a_lease_is_prepared_already(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: tx.do("put_limit", name="global", size=0, rate=None))
    submit(scheduler)
    claim(scheduler, lease=False)
    ask_lease(scheduler, 1)
    with pytest.raises(errors.IllegalMove, match="is LEASE_PENDING and cannot become PREPARING"):
        scheduler.store.write(lambda tx: leases.prepare(scheduler, tx, "1", WORKER))
