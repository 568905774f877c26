"""The journal of a job as it is shown, and as the next run gets it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from headway.domain.steps import ChildEnd, Step, StepKind
from headway.domain.values import moments
from headway.storage import chains, steps
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord
from headway.storage.steps import Entry

LARGEST_SENT = 256 * 1024
"""Bytes of a journal that go along with a claim; a larger one is read by the lease."""


def of_job(tx: Transaction, record: JobRecord) -> tuple[Step, ...]:
    """All that is in the journal of a job, also what it waits for now."""
    return _steps(tx, steps.journals(tx, [record.number])[record.number])


def to_send(tx: Transaction, numbers: Collection[int]) -> dict[int, tuple[Step, ...] | None]:
    """The journals of jobs that start, by number; of those that are too large, nothing."""
    if not numbers:
        return {}
    sizes = steps.sizes(tx, numbers)
    small = [
        number
        for number, size in sizes.items()
        if size.size <= LARGEST_SENT and not size.waits_for_children
    ]
    found: dict[int, tuple[Step, ...] | None] = dict.fromkeys(sizes)
    found.update((one, _steps(tx, its)) for one, its in steps.journals(tx, small).items())
    return found


def _steps(tx: Transaction, entries: Sequence[Entry]) -> tuple[Step, ...]:
    """Entries as they are shown; of children the numbers are kept, and how they ended is shown."""
    results = [None if one.result is None else codec.load(one.result) for one in entries]
    families = [one.kind is StepKind.CHILDREN for one in entries]
    named = [result or () for result, family in zip(results, families, strict=True) if family]
    ends = ends_of(tx, {number for numbers in named for number in numbers})
    return tuple(
        _step(one, [ends.get(number) for number in result or ()] if is_family else result)
        for one, result, is_family in zip(entries, results, families, strict=True)
    )


def _step(one: Entry, result: Any) -> Step:
    ended = one.finished_at
    return Step(
        kind=one.kind,
        name=one.name,
        index=one.step_index,
        attempt=one.attempt,
        run_id=one.run_id,
        started_at=moments.from_millis(one.started_at),
        finished_at=moments.maybe_from_millis(ended),
        duration_ms=None if ended is None else max(0, ended - one.started_at),
        result=result,
        timed_out=bool(one.timed_out),
    )


def ends_of(tx: Transaction, children: Collection[int]) -> Mapping[int, ChildEnd]:
    """How these children ended, judged by the links that decide their chains."""
    links = chains.deciding_links(tx, children)
    named = {one.number: one.job_id for one in tx.ask(chains.of_jobs(children, ()))[0]}
    ends = steps.ends_of_children(tx, [one.number for one in links.values()])
    return {
        chain: ChildEnd(
            job_id=named[chain],
            number=chain,
            status=link.status,
            result=None if (result := ends[link.number].result) is None else codec.load(result),
            error=ends[link.number].error,
        )
        for chain, link in links.items()
    }
