"""Params as they are kept: rows that never change, which jobs may share."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from headway.storage import jobs, records
from headway.storage.engine.transaction import Transaction


class Payload(NamedTuple):
    """Params as JSON, and whether they take from the results of jobs."""

    body: str
    refers: int = 0


def read(tx: Transaction, payload_ids: Collection[int]) -> dict[int, Payload]:
    """Params by payload id; most jobs have none."""
    found = {0: Payload("{}")}
    wanted = set(payload_ids) - {0}
    if wanted:
        rows = tx.rows("payloads", payload_ids=records.listed(wanted))
        found.update((row["payload_id"], Payload(row["body"], row["refers"])) for row in rows)
    return found


def of_runs(tx: Transaction, run_ids: Collection[str]) -> dict[str, str]:
    """The params that some runs had, as JSON by run."""
    rows = tx.rows("params_of_runs", run_ids=records.listed(run_ids))
    return {row["run_id"]: row["body"] for row in rows}


def fill_in(tx: Transaction, bodies: Mapping[str, str]) -> None:
    """These runs, which have just been opened, have these params instead of those of their jobs."""
    first = jobs.allocate(tx, payloads=len(bodies)).payload_id
    ids = dict(enumerate(bodies, first))
    tx.many(
        "insert_payload",
        [{"payload_id": id_, "body": bodies[run_id], "refers": 0} for id_, run_id in ids.items()],
    )
    tx.many(
        "set_params_of_run", [{"payload_id": id_, "run_id": run_id} for id_, run_id in ids.items()]
    )
