"""How a run ends."""

from enum import StrEnum


class RunStatus(StrEnum):
    """How a run ended. A run that goes on has no status, and one that ended keeps it."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    SUSPENDED = "SUSPENDED"
    """It gave its slot back to wait for something; another run goes on when the wait is over."""
