"""Steps that runs have done are recorded in the journals of their jobs."""

from collections import Counter
from collections.abc import Sequence

from headway.domain import errors, events
from headway.domain.requests.job_requests import check_moment, check_name
from headway.domain.steps import MOST_STEPS, Step, StepKind
from headway.domain.values import moments
from headway.protocol.work_values import StepAnswer, StepReport
from headway.scheduler.explain import journals
from headway.scheduler.lease import leases
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, steps
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.steps import NewEntry, StepFacts, StepKey


def check(scheduler: Scheduler, report: StepReport) -> None:
    """Refuse what no step can be, before a transaction begins."""
    check_name("name", report.name)
    if not 0 <= report.index < MOST_STEPS:
        raise errors.InvalidRequest("index", f"{report.index} is not between 0 and {MOST_STEPS}")
    check_moment("started_at", report.started_at)
    size = len(codec.dump(report.result).encode())
    if size > scheduler.rules.largest_result:
        raise errors.TooLarge("result", size, scheduler.rules.largest_result)


def record(tx: Transaction, worker_id: str, reports: Sequence[StepReport]) -> list[StepAnswer]:
    """Add steps to the journals of running jobs; each is answered for itself.

    The lease is the fence: without it nothing is recorded. The same step again is no error.
    """
    keys = [StepKey(one.lease_id, one.name, one.index) for one in reports]
    facts = steps.facts_of_steps(tx, keys)
    lost = [one.lease_id for turn, one in enumerate(reports) if turn not in facts]
    reasons = leases.refusals(tx, worker_id, lost) if lost else {}
    answers: list[StepAnswer] = []
    new: list[NewEntry] = []
    added: Counter[int] = Counter()
    results: dict[StepKey, str] = {}
    begun: set[int] = set()
    for turn, (key, report) in enumerate(zip(keys, reports, strict=True)):
        known = facts.get(turn)
        result = codec.dump(report.result)
        error = (
            reasons.get(report.lease_id) or errors.NotFound("lease", report.lease_id)
            if known is None
            else _refusal(known, report, worker_id, results.get(key), added[known.number])
        )
        is_there = key in results or (known is not None and known.known_since is not None)
        is_new = error is None and not is_there
        if known is not None and is_new:
            new.append(_entry(tx, known, report, result, added[known.number]))
            added[known.number] += 1
            results[key] = result
            begun |= set() if known.journal else {known.number}
            tx.note(events.STEP, known.number, {"name": report.name, "index": report.index})
        answers.append(StepAnswer(lease_id=report.lease_id, created=is_new, error=error))
    steps.insert(tx, new)
    steps.begin_journals(tx, begun)
    return answers


def _refusal(
    known: StepFacts, report: StepReport, worker_id: str, earlier: str | None, added: int
) -> errors.HeadwayError | None:
    """Why a step of a live lease is not recorded, if so; `earlier` is the same one in this call."""
    if known.worker_id != worker_id:
        return errors.ForeignLease(report.lease_id)
    there = known.known if known.known_since is not None else earlier
    if there is not None and there != codec.dump(report.result):
        return errors.StepDiffers(report.name, report.index)
    if there is None and next_place(known.last) + added >= MOST_STEPS:
        return errors.JournalFull(known.number, MOST_STEPS)
    return None


def next_place(last: int | None) -> int:
    """The place behind the last one in a journal."""
    return 0 if last is None else last + 1


def _entry(
    tx: Transaction, known: StepFacts, report: StepReport, result: str, added: int
) -> NewEntry:
    started = moments.maybe_to_millis(report.started_at)
    return NewEntry(
        chain=known.chain,
        generation=known.generation,
        kind=StepKind.STEP,
        name=report.name,
        step_index=report.index,
        place=next_place(known.last) + added,
        attempt=known.attempt,
        run_id=report.lease_id,
        started_at=tx.now_ms if started is None else min(started, tx.now_ms),
        finished_at=tx.now_ms,
        result=result,
    )


def of_lease(tx: Transaction, worker_id: str, lease_id: str) -> tuple[Step, ...]:
    """The journal for the run of a live lease."""
    if refused := leases.refusals(tx, worker_id, [lease_id]).get(lease_id):
        raise refused
    lease = leases.view(tx, lease_id)
    return tuple(
        one for one in journals.of_job(tx, jobs.read_one(tx, lease.job_id)) if one.finished_at
    )
