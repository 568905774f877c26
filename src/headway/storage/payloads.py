"""Params as they are kept: rows that never change, which jobs may share."""

from collections.abc import Collection

from headway.storage import records
from headway.storage.engine.transaction import Transaction


def read(tx: Transaction, payload_ids: Collection[int]) -> dict[int, str]:
    """Params as JSON by payload id; most jobs have none."""
    bodies = {0: "{}"}
    wanted = set(payload_ids) - {0}
    if wanted:
        rows = tx.rows("payloads", payload_ids=records.listed(wanted))
        bodies.update((row["payload_id"], row["body"]) for row in rows)
    return bodies
