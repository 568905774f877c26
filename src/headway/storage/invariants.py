"""What must be true of the store, a query and a sentence each."""

from headway.storage.engine.transaction import Transaction

MOST_SHOWN = 20
"""How many cases of the same problem are named."""

PROBLEMS = {
    "verify_running_without_lease": "job {} is RUNNING without a lease",
    "verify_running_without_open_run": "job {} is RUNNING without an open run",
    "verify_lease_without_running_job": "lease {} does not belong to a running job",
    "verify_open_run_without_running_job": "run {} is open, but its job is not running",
    "verify_open_dependencies": "job {} counts its open dependencies wrongly",
    "verify_lock_without_running_job": "lock {} is held by a job that is not running",
    "verify_conflicting_locks": "lock {} is held exclusively and by somebody else",
    "verify_claim_without_worker": "job {} is claimed without a worker or a time",
    "verify_two_active_links": "the chain of job {} has more than one active link",
    "verify_line_without_waiting": "job {} stands wrongly in the line for a lock",
    "verify_waiting_without_line": "job {} waits for locks but stands in no line",
    "verify_ends": "job {} ended otherwise than its run",
}


def broken(tx: Transaction) -> list[str]:
    """Which of our own rules are broken, a line each."""
    return [
        sentence.format(row["subject"])
        for query, sentence in PROBLEMS.items()
        for row in tx.rows(query, count=MOST_SHOWN)
    ]
