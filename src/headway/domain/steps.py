"""The journal of a program: what is done stays done, and what it waits for.

A handler may cut its work into steps and waits. Each leaves an entry in the journal of its chain
and generation. When the job runs again, what the journal holds is not done again.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.states import JobStatus
from headway.domain.values.moments import Moment

MOST_STEPS = 10_000
"""How many entries the journal of a job may have."""

MOST_CHILDREN = 100_000
"""How many children one wait may make."""


class StepKind(StrEnum):
    """What an entry of the journal is of."""

    STEP = "step"
    SLEEP = "sleep"
    SIGNAL = "signal"
    CHILDREN = "children"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the journal: `index` counts the uses of its kind and name from 0."""

    kind: StepKind
    name: str
    index: int
    attempt: int
    """How often the job had been tried before the run that it is of."""
    run_id: str | None
    started_at: datetime
    finished_at: datetime | None
    duration_ms: int | None
    result: Any = None
    """What the step returned, the payload of the signal, or a `ChildEnd` for each child."""
    timed_out: bool = False
    """Whether a signal did not come in time."""


class ChildEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended, judged by the last job of its chain."""

    job_id: str
    number: int
    status: JobStatus
    result: Any = None
    error: str | None = None


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """What a run that suspends its job waits for.

    A sleep has `until` or `delay_s`, a signal may have `delay_s` as its time-out, children are at
    least one. Without `index` it is the next of its kind and name.
    """

    kind: StepKind
    name: str
    index: int | None = None
    until: Moment | None = None
    delay_s: float | None = None
    children: tuple[BatchJobRequest, ...] = ()
