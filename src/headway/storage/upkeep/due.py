"""What is due when: jobs that wait for a time, and the moments the timekeeper sleeps until."""

from headway.storage.engine.transaction import Transaction

_MOMENTS = (
    "next_due_job",
    "next_late_job",
    "next_lease_expiry",
    "next_claim_expiry",
    "next_due_schedule",
    "next_unsettled",
)


def moments(tx: Transaction) -> list[int | None]:
    """When the next job is due, or late, and the next lease, claim, schedule and put-off job."""
    return [tx.value(name) for name in _MOMENTS]


def due_jobs(tx: Transaction, count: int) -> list[int]:
    """Jobs whose time has come, the most overdue first."""
    return [row["number"] for row in tx.rows("due_jobs", now=tx.now_ms, count=count)]


def delayed_jobs(tx: Transaction, after: int, count: int) -> list[int]:
    """Jobs that wait for a span of time, by number, after this one."""
    return [row["number"] for row in tx.rows("delayed_jobs", after=after, count=count)]


def move_delays(tx: Transaction, shift_ms: int, *, looked_at: int) -> None:
    """The clock was set since the last look: jobs wait for as long as was meant."""
    tx.do("move_delays", shift=shift_ms, looked=looked_at, now=tx.now_ms)
    tx.do("move_deadlines_of_starts", shift=shift_ms, looked=looked_at, now=tx.now_ms)


def late_jobs(tx: Transaction, count: int) -> list[int]:
    """Jobs that have not started by when they should have, the latest first."""
    return [row["number"] for row in tx.rows("late_jobs", now=tx.now_ms, count=count)]
