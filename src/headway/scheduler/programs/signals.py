"""Signals: a person or a program tells a job what it waits for, or will wait for."""

from typing import Any

from headway.domain import errors, events, states
from headway.domain.requests.job_requests import check_name
from headway.domain.steps import MOST_STEPS, Step, StepKind
from headway.domain.values import plain_json
from headway.scheduler import alone
from headway.scheduler.explain import journals
from headway.scheduler.finish import consequences
from headway.scheduler.lease import leases
from headway.scheduler.programs.steps import next_place
from headway.scheduler.scheduler import Scheduler
from headway.storage import chains, jobs, steps
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord
from headway.storage.steps import NewEntry, WaitKey

MOST_KEPT = 10_000
"""How many signals of one job may wait to be taken."""


def check(scheduler: Scheduler, name: str, payload: Any) -> None:
    """Refuse what no signal can be, before a transaction begins."""
    check_name("name", name)
    plain_json.refuse_nonsense(payload, "payload")
    size = len(codec.dump(payload).encode())
    if size > scheduler.rules.largest_params:
        raise errors.TooLarge("payload", size, scheduler.rules.largest_params)


def send(
    scheduler: Scheduler, tx: Transaction, reference: str | int, name: str, payload: Any
) -> JobRecord:
    """Give a signal to the job that its chain goes on with; kept until that waits for it."""
    named = jobs.read_one(tx, reference)
    link = chains.ends(tx, [named.chain])[named.chain]
    (record,) = jobs.read(tx, [link.number])
    if record.status in states.TERMINAL:
        raise errors.JobEnded(record.job_id, record.status)
    tx.note(events.SIGNAL, record.number, {"name": name})
    (waits,) = tx.ask(steps.pending([record.number]))
    pending = waits.get(record.number)
    if pending is not None and pending.kind is StepKind.SIGNAL and pending.name == name:
        steps.end_waits(tx, [record.number], result=codec.dump(payload))
        consequences.admit_or_end(scheduler, tx, [record.number])
        return record
    if steps.count_signals(tx, record.chain) >= MOST_KEPT:
        raise errors.Conflict(
            f"job {record.job_id} has {MOST_KEPT} signals that it has not taken; it must take some"
        )
    steps.put_signal(tx, record.chain, name, codec.dump(payload))
    return record


def take(
    tx: Transaction, worker_id: str, lease_id: str, name: str, index: int | None
) -> Step | None:
    """Take a signal that has come for a running job, if there is one: it is in the journal then."""
    alone.to_wait_for_signals(tx)
    if refused := leases.refusals(tx, worker_id, [lease_id]).get(lease_id):
        raise refused
    record = jobs.read_one(tx, leases.view(tx, lease_id).job_id)
    (facts,) = steps.facts_of_waits(tx, [WaitKey(record.number, StepKind.SIGNAL, name)])
    wanted = next_place(facts.last_index) if index is None else index
    if facts.last_index is not None and wanted <= facts.last_index:
        return _known(tx, record, name, wanted)
    place = next_place(facts.last)
    if place >= MOST_STEPS:
        raise errors.JournalFull(record.number, MOST_STEPS)
    if (signal := steps.take_signal(tx, record.chain, name)) is None:
        return None
    entry = NewEntry(
        chain=record.chain,
        generation=record.generation,
        kind=StepKind.SIGNAL,
        name=name,
        step_index=wanted,
        place=place,
        attempt=record.attempt,
        run_id=record.run_id,
        started_at=tx.now_ms,
        finished_at=tx.now_ms,
        result=signal.payload,
    )
    steps.insert(tx, [entry])
    steps.begin_journals(tx, [record.number])
    return _known(tx, record, name, wanted)


def _known(tx: Transaction, record: JobRecord, name: str, index: int) -> Step | None:
    """A signal that is in the journal: the answer of its taking may have been lost."""
    wanted = (StepKind.SIGNAL, name, index)
    found = journals.of_job(tx, record)
    return next((one for one in found if (one.kind, one.name, one.index) == wanted), None)
