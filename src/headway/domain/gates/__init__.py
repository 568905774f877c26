"""The gates a job must pass before it may start, one file each, in this order.

A gate looks at facts and says `None` (open) or `Closed` (and because of whom). The same functions
decide in the scheduler and answer `why`, so that the answer cannot differ from what happens.
"""

from enum import StrEnum

from headway.domain.gates.verdict import Blocker, Closed, FullLimit


class Gate(StrEnum):
    """The nine gates, in their order."""

    TIME = "time"
    AFTER = "after"
    ARTIFACTS = "artifacts"
    PINNED_HEAD = "pinned_head"
    APPROVAL = "approval"
    LOCKS = "locks"
    LIMITS = "limits"
    PAUSE = "pause"
    WORKER = "worker"


GATES = tuple(Gate)
"""The order of the gates. What admits a job and what explains it look at them in this order."""


__all__ = ["GATES", "Blocker", "Closed", "FullLimit", "Gate"]
