"""Journals as they are kept: what programs have done, what they wait for, and signals for them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headway.domain.states import JobStatus
from headway.domain.steps import StepKind
from headway.storage import records
from headway.storage.engine import codec, question
from headway.storage.engine.question import Question, Row
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a journal. Without an end, the job waits for it. Times are in milliseconds."""

    kind: StepKind
    name: str
    step_index: int
    attempt: int
    run_id: str | None
    started_at: int
    finished_at: int | None
    timed_out: int
    size: int
    result: str | None
    """As JSON; of children, the numbers of the first jobs of their chains."""


class Pending(NamedTuple):
    """What a suspended job waits for."""

    kind: StepKind
    name: str
    step_index: int


class StepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The job of a live lease, the end of its journal, and the step that was asked for."""

    worker_id: str
    number: int
    chain: int
    generation: int
    attempt: int
    journal: int
    last: int | None
    known_since: int | None
    """When the step ended, if it is in the journal."""
    known: str | None


class WaitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The last place in a journal, and the last index of a kind and name."""

    last: int | None
    last_index: int | None


class StepKey(NamedTuple):
    """A step of the run of a lease."""

    lease_id: str
    name: str
    step_index: int


class WaitKey(NamedTuple):
    """A wait of a job."""

    number: int
    kind: StepKind
    name: str


def facts_of_steps(tx: Transaction, keys: Sequence[StepKey]) -> dict[int, StepFacts]:
    """What must be known to record these steps, by their places; of a lost lease nothing is."""
    rows = tx.rows("step_facts", steps=codec.dump(keys))
    return {row["turn"]: _without_turn(row, StepFacts) for row in rows}


def facts_of_waits(tx: Transaction, keys: Sequence[WaitKey]) -> list[WaitFacts]:
    """What must be known to record these waits."""
    rows = tx.rows("wait_facts", waits=codec.dump(keys))
    found = {row["turn"]: _without_turn(row, WaitFacts) for row in rows}
    return [found[turn] for turn in range(len(keys))]


def _without_turn(row: Row, kind: type[Any]) -> Any:
    return kind(**{name: value for name, value in row.items() if name != "turn"})


class NewEntry(NamedTuple):
    """An entry at the end of a journal. Times are in milliseconds."""

    chain: int
    generation: int
    kind: StepKind
    name: str
    step_index: int
    place: int
    attempt: int
    run_id: str | None
    started_at: int
    finished_at: int | None
    result: str | None


def insert(tx: Transaction, entries: Iterable[NewEntry]) -> None:
    """Add entries to journals."""
    tx.many(
        "insert_step",
        [
            {**one._asdict(), "size": len((one.result or "").encode()), "kind": one.kind.value}
            for one in entries
        ],
    )


def begin_journals(tx: Transaction, numbers: Collection[int]) -> None:
    """These jobs have a journal from now on."""
    if numbers:
        tx.put("has_journal", numbers=records.listed(numbers))


def journals(tx: Transaction, numbers: Collection[int]) -> dict[int, list[Entry]]:
    """What these jobs have done and waited for, in order."""
    found: dict[int, list[Entry]] = {number: [] for number in numbers}
    for row in tx.rows("journals", numbers=records.listed(numbers)) if found else ():
        fields = {name: value for name, value in row.items() if name != "number"}
        found[row["number"]].append(Entry(**{**fields, "kind": StepKind(row["kind"])}))
    return found


class JournalSize(NamedTuple):
    """How large a journal is, and how many of its entries name children."""

    size: int
    waits_for_children: int


def sizes(tx: Transaction, numbers: Collection[int]) -> dict[int, JournalSize]:
    """How large the journals of these jobs are."""
    rows = tx.rows("journal_sizes", numbers=records.listed(numbers))
    return {row["number"]: JournalSize(row["size"], row["waits_for_children"]) for row in rows}


def pending(numbers: Collection[int]) -> Question[dict[int, Pending]]:
    """What those of these jobs that are suspended wait for, by number."""
    if not numbers:
        return question.known({})
    return question.of_rows(
        lambda rows: {
            row["number"]: Pending(StepKind(row["kind"]), row["name"], row["step_index"])
            for row in rows
        },
        "pending_waits",
        numbers=records.listed(numbers),
    )


class Suspended(NamedTuple):
    """How a job stands while it is suspended. Times are in milliseconds."""

    number: int
    due_at: int | None
    delayed: bool
    wait_kind: str | None
    wait_detail: str | None
    waited_on: tuple[str, ...]
    open_deps: int
    progress: str | None


def suspend(tx: Transaction, suspended: Iterable[Suspended]) -> None:
    """These jobs gave their slots back to wait."""
    tx.many(
        "suspend_job",
        [
            {
                **one._asdict(),
                "delayed": int(one.delayed),
                "waited_on": codec.dump(one.waited_on),
            }
            for one in suspended
        ],
    )


def count_suspended(tx: Transaction) -> int:
    """How many jobs are suspended."""
    return int(tx.value("count_suspended"))


def end_waits(
    tx: Transaction, numbers: Collection[int], *, timed_out: bool = False, result: str | None = None
) -> None:
    """What these jobs waited for has come, with this result, or the time for it is over."""
    if numbers:
        tx.put(
            "end_waits",
            numbers=records.listed(numbers),
            finished_at=tx.now_ms,
            timed_out=int(timed_out),
            result=result,
            size=None if result is None else len(result.encode()),
        )


def forget_children(tx: Transaction, numbers: Collection[int]) -> None:
    """These jobs wait for no child any more; asked before their waits end."""
    if numbers:
        tx.put("forget_children", numbers=records.listed(numbers))


def awaited_children(tx: Transaction, numbers: Collection[int]) -> list[int]:
    """The chains of the children for whose end some suspended jobs wait."""
    rows = tx.rows("awaited_children", numbers=records.listed(numbers)) if numbers else ()
    return [row["chain"] for row in rows]


class Parent(NamedTuple):
    """A suspended job that waits for a child; `met` says that this child has ended."""

    number: int
    chain: int
    met: int


def waiting_parents(tx: Transaction, chains: Collection[int]) -> list[Parent]:
    """The suspended jobs that wait for these children, or for others beside them."""
    rows = tx.rows("waiting_parents", chains=records.listed(chains)) if chains else ()
    return [Parent(**row) for row in rows]


def wait_again(tx: Transaction, parents: Iterable[Parent]) -> None:
    """These jobs wait for children that had ended and go on."""
    tx.many("raise_open_deps", [{"number": one.number} for one in parents])


def children_in_journals(tx: Transaction, numbers: Collection[int]) -> dict[int, set[int]]:
    """The chains of the children for which these jobs have waited, by number."""
    found: dict[int, set[int]] = {}
    for row in tx.rows("children_in_journals", numbers=records.listed(numbers)) if numbers else ():
        found.setdefault(row["number"], set()).add(row["chain"])
    return found


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended."""

    number: int
    status: JobStatus
    result: str | None
    error: str | None


def ends_of_children(tx: Transaction, numbers: Collection[int]) -> Mapping[int, End]:
    """How these jobs ended, by number."""
    rows = tx.rows("child_ends", numbers=records.listed(numbers)) if numbers else ()
    return {
        row["number"]: End(
            number=row["number"],
            status=JobStatus(row["status"]),
            result=row["result"],
            error=row["error"] or row["wait_detail"],
        )
        for row in rows
    }


def place_of(tx: Transaction, record: JobRecord, name: str, index: int) -> int | None:
    """Where a step or a wait stands in the journal of a job."""
    row = tx.row(
        "place_of_step",
        chain=record.chain,
        generation=record.generation,
        name=name,
        step_index=index,
    )
    return None if row is None else int(row["place"])


def copy_to_next_generation(tx: Transaction, record: JobRecord, *, before: int) -> None:
    """The next generation of a job has done what this one did before a place in its journal."""
    tx.put("copy_steps", chain=record.chain, generation=record.generation, place=before)


class Signal(NamedTuple):
    """A signal that a job has taken."""

    at: int
    payload: str | None


def put_signal(tx: Transaction, chain: int, name: str, payload: str | None) -> None:
    """Keep a signal until a job of the chain waits for it."""
    tx.put("put_signal", chain=chain, name=name, at=tx.now_ms, payload=payload)


def count_signals(tx: Transaction, chain: int) -> int:
    """How many signals of a chain no job has taken yet."""
    return int(tx.value("count_signals", chain=chain))


def take_signal(tx: Transaction, chain: int, name: str) -> Signal | None:
    """Take the oldest signal of this name, if there is one."""
    row = tx.row("take_signal", chain=chain, name=name)
    return None if row is None else Signal(row["at"], row["payload"])


def forget_signals(tx: Transaction, chains: Collection[int]) -> None:
    """These chains start afresh."""
    tx.put("forget_signals", chains=records.listed(chains))
