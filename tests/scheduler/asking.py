"""Asks a scheduler the questions that people ask, and lets its time-keeping happen."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.helpers import WORKER, in_queue

from headway.domain.answers import GateRow, GateState, Graph, RewindReport, Why
from headway.domain.jobs import Job
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.workers import Abilities
from headway.scheduler.change import rewind
from headway.scheduler.claim import registration
from headway.scheduler.explain import graph_view, status
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit as submitting
from headway.scheduler.upkeep import probe, timekeeper
from headway.storage.engine.question import Question
from headway.storage.engine.transaction import Transaction


def register(
    scheduler: Scheduler,
    worker_id: str = WORKER,
    *,
    slots: int = 100,
    token_id: str | None = None,
    **abilities: Any,
) -> None:
    """A worker says that it is there."""
    scheduler.store.write(
        lambda tx: registration.see(
            scheduler,
            tx,
            worker_id=worker_id,
            host="here",
            pid=1,
            process_started="then",
            built_in=False,
            abilities=Abilities(**abilities),
            slots=slots,
            token_id=token_id,
        )
    )


def submit_all(scheduler: Scheduler, *wanted: dict[str, Any]) -> list[int]:
    """Submit a batch; answers the numbers."""
    requests = msgspec.convert(
        [{"job_type": "work", **one} for one in wanted], list[BatchJobRequest]
    )
    made = scheduler.store.write(lambda tx: submitting.submit_all(scheduler, tx, requests))
    return [one.number for one in made]


def show(scheduler: Scheduler, reference: str | int) -> Job:
    """A job as people see it."""
    return scheduler.store.read(lambda tx: status.view(scheduler, tx, reference))


def why(scheduler: Scheduler, reference: str | int) -> Why:
    """Why a job is not running."""
    return scheduler.store.read(lambda tx: status.why(scheduler, tx, reference))


def closed_gate(answer: Why) -> GateRow:
    """The one gate that is closed."""
    (found,) = [row for row in answer.gates if row.state is GateState.CLOSED]
    return found


def graph(scheduler: Scheduler, **wanted: Any) -> Graph:
    """What is waiting on what."""
    return scheduler.store.read(lambda tx: graph_view.graph(scheduler, tx, **wanted))


def rewound(scheduler: Scheduler, reference: str | int, *, force: bool = False) -> RewindReport:
    """Rewind a job."""
    return scheduler.store.write(lambda tx: rewind.rewind(scheduler, tx, reference, force=force))


def queue_order(scheduler: Scheduler) -> list[int]:
    """The waiting jobs in the order in which they would go."""
    return [number for number, _ in in_queue(scheduler.store)]


def keep_time(scheduler: Scheduler) -> None:
    """Do what is due now, and look at files and branches once."""
    timekeeper.run_due(scheduler, scheduler.clock.now())
    probe.probe(scheduler)


def damage(scheduler: Scheduler, sql: str) -> None:
    """Change the tables in a way that no verb would."""
    scheduler.store.write(lambda tx: tx.select(f"{sql} RETURNING 1 AS done", {}))


def watch_queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the queries that transactions run from now on."""
    names: list[str] = []

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(tx: Transaction, *args: Any, **params: Any) -> Any:
            names.extend(one for one in args if isinstance(one, str))
            names.extend(one.name for one in args if isinstance(one, Question) and one.name)
            return method(tx, *args, **params)

        return noted

    for name in ("rows", "row", "value", "values", "do", "put", "many", "ask"):
        monkeypatch.setattr(Transaction, name, noting(getattr(Transaction, name)))
    return names
