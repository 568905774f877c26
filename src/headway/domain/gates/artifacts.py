"""Gate 3: is everything there that the job needs?"""

from collections.abc import Sequence

import msgspec

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.states import JobStatus


class Producer(msgspec.Struct, frozen=True, kw_only=True):
    """A job that says it makes the artifact, judged by the last link of its chain."""

    job: str
    status: JobStatus


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """One needed artifact and the jobs that produce it."""

    artifact: str
    present: bool
    producers: tuple[Producer, ...] = ()


def check(needs: Sequence[Need], *, wait_for_producer: bool) -> Closed | None:
    """The first missing artifact, in the order in which they are needed, closes the gate."""
    for need in needs:
        if not need.present:
            return _missing(need, wait_for_producer)
    return None


def _missing(need: Need, wait_for_producer: bool) -> Closed:
    statuses = {producer.status for producer in need.producers}
    if statuses & states.ACTIVE:
        return _waiting(need, f"waiting on {need.artifact}")
    if not need.producers and wait_for_producer:
        return _waiting(need, f"awaiting producer for {need.artifact}")
    if not need.producers or statuses & states.SUCCESS:
        return _blocked(need, f"missing {need.artifact}")
    return _blocked(need, f"dependency failed for {need.artifact}")


def _waiting(need: Need, detail: str) -> Closed:
    return Closed(
        status=states.WAITING_ON_DEPS, kind="dependencies", detail=detail, blockers=_blockers(need)
    )


def _blocked(need: Need, detail: str) -> Closed:
    return Closed(
        status=states.BLOCKED_BY_DEPENDENCY,
        kind="dependencies",
        detail=detail,
        blockers=_blockers(need),
        forever=True,
    )


def _blockers(need: Need) -> tuple[Blocker, ...]:
    missing = Blocker(kind="artifact", id=need.artifact, status="missing")
    producers = (Blocker(kind="job", id=one.job, status=one.status) for one in need.producers)
    return (missing, *producers)
