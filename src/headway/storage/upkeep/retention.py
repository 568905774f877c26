"""What is old and may go, and what goes with it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from headway.domain.states import JobStatus
from headway.storage import names, records
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class EndedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is over. Times are in milliseconds."""

    number: int
    chain: int
    created_at: int
    finished_at: int


class Fire(NamedTuple):
    """A fire of a schedule, its time in milliseconds."""

    schedule_id: str
    fire_time: int


BEFORE_ALL_FIRES = Fire("", 0)


def ended_from(tx: Transaction, status: JobStatus, after: int, count: int) -> list[EndedJob]:
    """Jobs that ended like this, by number, after this one."""
    rows = tx.rows("ended_from", status=status, after=after, count=count)
    return [EndedJob(**row) for row in rows]


def followed(tx: Transaction, chains: Collection[int]) -> set[int]:
    """Those of these chains that a job which is not over comes after."""
    rows = tx.rows("chains_that_active_jobs_follow", chains=records.listed(chains))
    return {row["chain"] for row in rows}


def with_active_families(tx: Transaction, gone: Mapping[int, int | None]) -> set[int]:
    """Those of these chains, with their parents, whose parent or child is not over."""
    parents = records.listed({one for one in gone.values() if one is not None})
    active = {row["chain"] for row in tx.rows("parents_that_are_active", chains=parents)}
    rows = tx.rows("parents_of_active_jobs", chains=records.listed(gone))
    children = (chain for chain, parent in gone.items() if parent in active)
    return {*(row["chain"] for row in rows), *children}


def needed(tx: Transaction, artifacts: Iterable[str]) -> list[str]:
    """Those of these artifacts that a job which is not over needs."""
    rows = tx.rows("artifacts_that_active_jobs_need", artifacts=records.listed(artifacts))
    return [row["artifact"] for row in rows]


def groups_in_use(tx: Transaction, group_ids: Collection[str], until: int) -> set[str]:
    """Those of these groups that are not over, or not since then."""
    rows = tx.rows("groups_in_use", group_ids=records.listed(group_ids), until=until)
    return {row["group_id"] for row in rows}


def with_undelivered_messages(tx: Transaction, numbers: Iterable[int]) -> set[int]:
    """Those of these jobs about which a message is still to be delivered."""
    rows = tx.rows("jobs_with_undelivered_messages", numbers=records.listed(numbers))
    return {row["job_number"] for row in rows}


def runs_of(tx: Transaction, numbers: Collection[int]) -> list[str]:
    """The ids of the runs of these jobs."""
    rows = tx.rows("payloads_of_runs", numbers=records.listed(numbers))
    return [row["run_id"] for row in rows]


def payloads_of_runs(tx: Transaction, numbers: Collection[int]) -> set[int]:
    """The params that the runs of these jobs had."""
    rows = tx.rows("payloads_of_runs", numbers=records.listed(numbers))
    return {row["payload_id"] for row in rows}


def delete_payload(tx: Transaction, payload_id: int) -> None:
    """Delete params that no job and no run has."""
    tx.do("delete_payloads", payload_ids=records.listed([payload_id]))


def delete_jobs(tx: Transaction, gone: Sequence[JobRecord]) -> list[str]:
    """Delete jobs and everything about them; returns the ids of their runs."""
    numbers = records.listed(link.number for link in gone)
    runs = tx.rows("payloads_of_runs", numbers=numbers)
    payloads = {link.payload_id for link in gone} | {row["payload_id"] for row in runs}
    tx.many("delete_tag", _pairs(gone, "tag", "tags"))
    tx.many("delete_word", [row for link in gone for row in names.words(link.number, link.terms)])
    tx.many("delete_need", _pairs(gone, "artifact", "needs"))
    tx.many("delete_product", _pairs(gone, "artifact", "produces"))
    for query in (
        "delete_names",
        "delete_dependencies",
        "delete_deliveries",
        "delete_events",
        "delete_runs",
        "delete_steps",
        "delete_signals",
        "delete_jobs",
    ):
        tx.do(query, numbers=numbers)
    tx.do("delete_payloads", payload_ids=records.listed(payloads))
    group_ids = {link.group_id for link in gone if link.group_id}
    tx.do("delete_empty_groups", group_ids=records.listed(group_ids))
    return [row["run_id"] for row in runs]


def _pairs(gone: Sequence[JobRecord], column: str, terms: str) -> list[dict[str, object]]:
    return [
        {column: value, "job_number": link.number}
        for link in gone
        for value in getattr(link.terms, terms)
    ]


def _delete(query: str, tx: Transaction, until: int, count: int) -> list[str]:
    return [str(row["id"]) for row in tx.rows(query, until=until, count=count)]


delete_audit = partial(_delete, "delete_old_audit")
delete_direct_requests = partial(_delete, "delete_old_direct_requests")
delete_reservations = partial(_delete, "delete_old_reservations")
delete_tokens = partial(_delete, "delete_old_tokens")
delete_events = partial(_delete, "delete_old_events")
delete_silent_workers = partial(_delete, "delete_silent_workers")


def fires_from(tx: Transaction, after: Fire, count: int) -> list[Fire]:
    """Fires of schedules, from one on."""
    rows = tx.rows("fires_from", **after._asdict(), count=count)
    return [Fire(**row) for row in rows]


def delete_fires(tx: Transaction, fires: Iterable[Fire]) -> None:
    """Forget fires from long ago."""
    tx.many("delete_fire", [one._asdict() for one in fires])


def known_log_folders(tx: Transaction, names: Collection[str]) -> set[str]:
    """Those of these names that are a run or a direct request."""
    return {row["id"] for row in tx.rows("known_log_folders", names=records.listed(names))}
