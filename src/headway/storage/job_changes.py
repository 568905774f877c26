"""Changes of jobs by hand, as they are kept."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headway.domain.gates import Closed
from headway.domain.jobs import Approval
from headway.domain.states import QUEUED
from headway.storage import records
from headway.storage.admit import lock_lines, watches
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class Change(NamedTuple):
    """What of a waiting job may change."""

    number: int
    payload_id: int
    priority: int
    position: int
    scheduled_for: int | None
    delayed: int
    start_by: int | None


def unchanged(record: JobRecord) -> Change:
    """A job as it is."""
    return Change(*(getattr(record, name) for name in Change._fields))


def change(tx: Transaction, changed: Change) -> None:
    """New params, priority, position or time of a job that waits."""
    tx.do("change_job", **changed._asdict())


def raise_position(tx: Transaction, position: int) -> None:
    """New jobs come behind this position."""
    tx.put("raise_position", position=position)


def insert_payload(tx: Transaction, payload_id: int, body: str, *, refers: bool) -> None:
    """Params of a job."""
    tx.do("insert_payload", payload_id=payload_id, body=body, refers=int(refers))


def set_approval(tx: Transaction, number: int, approval: Approval) -> None:
    """What a person said about a job."""
    tx.do("set_approval", number=number, approval=approval)


def request_cancel(tx: Transaction, number: int, cancel: str) -> None:
    """A running job is to end."""
    tx.do("request_cancel", number=number, cancel=cancel)


def note_waited_on(tx: Transaction, kinds: Mapping[int, tuple[str, ...]]) -> None:
    """The kinds of gates that jobs have waited on so far, by number."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, some in kinds.items():
        alike.setdefault(some, []).append(number)
    tx.many(
        "note_waited_on",
        [
            {"waited_on": codec.dump(some), "numbers": records.listed(numbers)}
            for some, numbers in alike.items()
        ],
    )


def become_history(tx: Transaction, numbers: Iterable[int]) -> None:
    """Retries of an earlier generation leave their chains."""
    tx.many("become_history", [{"number": number} for number in numbers])


def stop_waiting(tx: Transaction, numbers: Collection[int]) -> None:
    """Jobs want no lock any more, and nothing is watched for them."""
    lock_lines.leave(tx, numbers)
    watches.remove(tx, numbers)


class Fresh(NamedTuple):
    """A job of a new generation: how many dependencies it has, and which gate is closed."""

    number: int
    open_deps: int
    waits: Closed | None
    start_by: int | None = None


def rewind(tx: Transaction, fresh: Iterable[Fresh]) -> None:
    """Jobs begin anew, as if they had just been submitted."""
    tx.many("rewind_job", [_row(one) for one in fresh])


def _row(one: Fresh) -> dict[str, object]:
    waits = one.waits
    return {
        "number": one.number,
        "open_deps": one.open_deps,
        "status": (waits.status if waits else QUEUED).value,
        "wait_kind": waits.kind if waits else None,
        "wait_detail": waits.detail if waits else None,
        "waited_on": codec.dump([waits.kind] if waits else []),
        "start_by": one.start_by,
    }
