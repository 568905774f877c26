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
from headway.storage import jobs, lanes, queries
from headway.storage.engine.transaction import Transaction

SOURCE = Path(str(resources.files(headway)))
DECIDED = {("consequences.py", "_record_ends"): ("decide.py", "decide")}
"""Functions that record what another one has decided, which checks it."""


def sets_status(query: str) -> bool:
    """Whether a query sets the status of jobs."""
    assigned = query.partition("UPDATE jobs SET ")[2].partition("WHERE")[0]
    return re.search(r"\bstatus = ", assigned) is not None


Function = tuple[str, str]
"""Its file and its name."""


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Every function there is."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield path, node


def calls(function: ast.FunctionDef) -> set[str]:
    """What a function calls, as it is written."""
    return {ast.unparse(one.func) for one in ast.walk(function) if isinstance(one, ast.Call)}


def in_storage(path: Path) -> bool:
    """Whether a file is in storage or a folder below it."""
    return path.is_relative_to(SOURCE / "storage")


def setting() -> set[str]:
    """The queries that set the status of jobs."""
    return {
        name
        for dialect in ("sqlite", "postgres")
        for name, text in queries.load(f"headway.storage.{dialect}").items()
        if sets_status(text)
    }


def writers() -> dict[Function, bool]:
    """Functions that set a status, and whether they check it; storage records for its callers."""
    wanted = setting()
    using = [
        (path, function.name)
        for path, function in functions()
        if wanted & {one.value for one in ast.walk(function) if isinstance(one, ast.Constant)}
    ]
    recorders = {f"{path.stem}.{name}" for path, name in using if in_storage(path)}
    return {
        (path.name, one.name): bool({"states.check", "states.check_all"} & calls(one))
        for path, one in functions()
        if not in_storage(path) and ((path, one.name) in using or recorders & calls(one))
    }


def test_every_function_that_sets_a_status_checks_the_move() -> None:
    found = writers()
    assert len(found) == 9
    assert {one for one, checks in found.items() if not checks} == DECIDED.keys()


def test_what_is_only_recorded_was_checked_when_it_was_decided() -> None:
    checking = {(path.name, one.name) for path, one in functions() if "states.check" in calls(one)}
    assert set(DECIDED.values()) <= checking


@pytest.mark.parametrize("lease", [True, False])
def test_what_has_ended_is_not_started(scheduler: Scheduler, lease: bool) -> None:
    submit(scheduler)
    finish(scheduler, claim(scheduler))

    def work(tx: Transaction) -> None:
        record = jobs.read_one(tx, 1)
        lane = lanes.read(tx, [record.lane_id])[record.lane_id]
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
