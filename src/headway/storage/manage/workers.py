"""Workers as they are kept."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from headway.domain.values import moments
from headway.domain.workers import Abilities, DataDirectory, Worker
from headway.storage.engine import codec, question
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `workers`. Times are in milliseconds."""

    worker_id: str
    token_id: str | None
    host: str
    pid: int
    process_started: str
    built_in: int
    abilities: str
    slots: int
    first_seen: int
    last_seen: int
    left_at: int | None
    draining_since: int | None
    data_id: str | None
    data: str | None
    url: str | None


class Owner(NamedTuple):
    """The token that used a worker first; None if none was needed."""

    token_id: str | None


def see(
    tx: Transaction,
    *,
    worker_id: str,
    host: str,
    pid: int,
    process_started: str,
    built_in: bool,
    abilities: Abilities,
    slots: int,
    token_id: str | None = None,
    home: DataDirectory | None = None,
) -> None:
    """Register or refresh a worker; a new one belongs to this token from then on."""
    tx.do(
        "see_worker",
        worker_id=worker_id,
        token_id=token_id,
        host=host,
        pid=pid,
        process_started=process_started,
        built_in=int(built_in),
        abilities=codec.dump(abilities),
        slots=slots,
        now=tx.now_ms,
        data_id=home.data_id if home else None,
        data=home.data if home else None,
        url=home.url if home else None,
    )


def is_known(tx: Transaction, worker_id: str) -> bool:
    """Whether this worker is registered and has not left."""
    return standing(tx, worker_id) is not None


def users_of_data(tx: Transaction, data_id: str) -> list[WorkerRecord]:
    """The servers that have used a data directory, the newest first."""
    return [WorkerRecord(**row) for row in tx.rows("servers_of_data", data_id=data_id)]


def registered(tx: Transaction) -> list[WorkerRecord]:
    """Every worker that is known and has not left."""
    return [WorkerRecord(**row) for row in tx.rows("workers")]


def built_in(tx: Transaction) -> list[WorkerRecord]:
    """The workers of servers that are known and have not left."""
    return [one for one in registered(tx) if one.built_in]


def owner(tx: Transaction, worker_id: str) -> Owner | None:
    """Whose a worker is, if it is known."""
    row = tx.row("owner_of_worker", worker_id=worker_id)
    return Owner(row["token_id"]) if row else None


def touch(tx: Transaction, worker_id: str) -> None:
    """A worker was heard of."""
    tx.put("touch_worker", worker_id=worker_id, now=tx.now_ms)


def leave(tx: Transaction, worker_id: str) -> None:
    """A worker has gone; its name stays that of its token."""
    tx.do("leave_worker", worker_id=worker_id, now=tx.now_ms)


def leave_silent(tx: Transaction, token_id: str | None, until: int) -> None:
    """The workers of a token that have been silent since then have gone."""
    tx.do("leave_silent_workers", token_id=token_id, until=until, now=tx.now_ms)


def remove(tx: Transaction, worker_id: str) -> None:
    """A worker is forgotten; its name is free."""
    tx.do("remove_worker", worker_id=worker_id)


def drain(tx: Transaction, worker_id: str, since: int | None) -> bool:
    """A worker takes no more jobs since then, or takes some again; False if it is unknown."""
    return bool(tx.do("drain_worker", worker_id=worker_id, since=since))


def count_of_token(tx: Transaction, token_id: str | None) -> int:
    """How many workers of a token are known and have not left."""
    return int(tx.value("workers_of_token", token_id=token_id))


class Standing(NamedTuple):
    """When a worker was heard of last, and what it takes."""

    last_seen: int
    abilities: Abilities


def standing(tx: Transaction, worker_id: str) -> Standing | None:
    """What is known of a worker that is registered and has not left."""
    row = tx.row("worker_standing", worker_id=worker_id)
    if row is None:
        return None
    return Standing(row["last_seen"], msgspec.json.decode(row["abilities"], type=Abilities))


DRAINING = question.of_rows(lambda rows: {row["worker_id"] for row in rows}, "draining_workers")
"""The workers that are to take no more jobs."""


def draining(tx: Transaction) -> set[str]:
    """The workers that are to take no more jobs."""
    return tx.ask(DRAINING)[0]


def all_known(
    tx: Transaction,
    silent_since: int,
    is_there: Callable[[WorkerRecord], bool],
    *,
    with_jobs: bool,
) -> list[Worker]:
    """Every worker, with what it holds if wanted; one that is silent since then is not alive."""
    held: dict[str, list[Row]] = {}
    for row in tx.rows("held_by_worker") if with_jobs else ():
        held.setdefault(row["worker_id"], []).append(row)
    return [
        _view(one, is_there(one), silent_since, held.get(one.worker_id, []))
        for one in registered(tx)
    ]


def _view(one: WorkerRecord, there: bool, silent_since: int, held: Sequence[Row]) -> Worker:
    abilities = msgspec.json.decode(one.abilities, type=Abilities)
    return Worker(
        worker_id=one.worker_id,
        host=one.host,
        pid=one.pid,
        process_started=one.process_started,
        built_in=bool(one.built_in),
        queues=abilities.queues,
        job_types=abilities.job_types,
        capabilities=abilities.capabilities,
        slots=one.slots,
        first_seen=moments.from_millis(one.first_seen),
        last_seen=moments.from_millis(one.last_seen),
        max_cost_units=abilities.max_cost_units,
        alive=there and one.last_seen > silent_since,
        gone=not there,
        holds=tuple(held_one["job_id"] for held_one in held),
        full_since=moments.maybe_from_millis(_full_since(held, one.slots)),
        draining_since=moments.maybe_from_millis(one.draining_since),
    )


def _full_since(held: Sequence[Row], slots: int) -> int | None:
    """When the last slot was taken, as far as the leases tell."""
    since = sorted(one["since"] for one in held if one["since"] is not None)
    return since[slots - 1] if 0 < slots <= len(since) else None
