"""Changes to a store that is not as it must be, which no other verb makes."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from headway.domain import states
from headway.domain.jobs import After, AfterGroup, Lock
from headway.domain.runs import RunStatus
from headway.storage import names, records
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def release_stray_locks(tx: Transaction) -> set[str]:
    """Free the locks of jobs that do not run; return them."""
    return {row["key"] for row in tx.rows("release_stray_locks")}


def holders(tx: Transaction, key: str) -> list[int]:
    """The jobs that hold a lock."""
    return [row["job_number"] for row in tx.rows("holders", keys=records.listed([key]))]


def end_leases(tx: Transaction, lease_ids: Collection[str]) -> None:
    """These leases are over, and nothing follows from it."""
    tx.rows("end_leases", lease_ids=records.listed(lease_ids), worker_id=None)


def count_open_dependencies(tx: Transaction, numbers: Collection[int]) -> None:
    """Jobs count their open dependencies anew."""
    tx.do("count_open_dependencies", numbers=records.listed(numbers))


def remove_stray_lane_waits(tx: Transaction) -> None:
    """Forget what lanes waited on that are not there."""
    tx.do("remove_stray_lane_waits")


def stand_in_for_lanes(tx: Transaction) -> None:
    """A lane that says that it is lost, for each that is."""
    tx.many(
        "insert_lost_lane",
        [
            {"lane_id": row["lane_id"], "key": codec.dump(["lost", row["lane_id"]])}
            for row in tx.rows("lost_lanes")
        ],
    )


def stand_in_for_params(tx: Transaction, body: str) -> None:
    """Params that say that they are lost, for all that are."""
    rows = [{"payload_id": row["payload_id"], "body": body} for row in tx.rows("lost_payloads")]
    tx.many("insert_lost_payload", rows)


def leave_groups(tx: Transaction, numbers: Collection[int]) -> None:
    """These jobs belong to no group."""
    tx.do("leave_lost_groups", numbers=records.listed(numbers))


def jobs_with_terms(tx: Transaction, after: int, count: int) -> list[JobRecord]:
    """Jobs that say something of what they come after, need, make, lock or are tagged with."""
    return tx.values(JobRecord, "jobs_with_terms", after=after, count=count)


def restore_edges(
    tx: Transaction,
    found: Iterable[JobRecord],
    is_met: Callable[[JobRecord, After | AfterGroup], bool],
) -> None:
    """Rows that follow from what jobs say of themselves, where they are missing."""
    for record in found:
        terms, number = record.terms, record.number
        tx.many(
            "restore_dependency",
            [
                {
                    "job_number": number,
                    "chain": one.number,
                    "policy": one.policy.value,
                    "met": int(is_met(record, one)),
                }
                for one in terms.comes_after
            ],
        )
        tx.many("restore_need", [{"artifact": one, "job_number": number} for one in terms.needs])
        tx.many(
            "restore_product", [{"artifact": one, "job_number": number} for one in terms.produces]
        )
        tx.many("restore_tag", [{"tag": one, "job_number": number} for one in terms.tags])
        tx.many("restore_name", names.named(number, terms))
        tx.many("restore_word", names.words(number, terms))
        if record.status is states.RUNNING:
            tx.many("restore_lock", [_held(record, one) for one in terms.locks])


def _held(record: JobRecord, lock: Lock) -> dict[str, Any]:
    return {
        "key": lock.key,
        "job_number": record.number,
        "mode": lock.mode.value,
        "since": record.started_at,
    }


def insert_run_of(tx: Transaction, record: JobRecord, status: RunStatus, error: str) -> None:
    """A run that is lost, as far as its job tells of it."""
    tx.put(
        "insert_saved_run",
        run_id=record.run_id,
        number=record.number,
        attempt=record.attempt,
        generation=record.generation,
        run_status=status,
        payload_id=record.payload_id,
        worker_id=record.worker_id,
        started_at=record.started_at or record.finished_at,
        finished_at=record.finished_at,
        exit_code=record.exit_code,
        error=error,
    )


def raise_numbers(tx: Transaction) -> None:
    """New numbers come behind the highest that any row speaks of."""
    last = {row["name"]: row["value"] for row in tx.rows("last_numbers")}
    for row in tx.rows("highest_numbers"):
        if row["value"] > last.get(row["name"], 0):
            tx.rows("continue_numbers", name=row["name"], value=row["value"])
