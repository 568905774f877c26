"""Gate 9: is there a worker that takes such jobs, with a free slot?"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Lane
from headway.domain.workers import Worker


def check(lane: Lane, workers: Sequence[Worker]) -> Closed | None:
    """Closed while no living worker that takes jobs of this lane has a free slot."""
    fitting = [worker for worker in workers if worker.abilities.refusal(lane) is None]
    living = [worker for worker in fitting if worker.alive and worker.draining_since is None]
    if any(not worker.is_full for worker in living):
        return None
    if living:
        return _busy(lane, fitting)
    wanted = ", ".join((lane.job_type, *lane.requires))
    return Closed(
        status=states.QUEUED,
        kind="worker",
        detail=f"no worker for queue {lane.queue} with {wanted}",
        blockers=tuple(_unfit(worker, lane) for worker in workers),
        forever=all(worker.gone for worker in fitting),
    )


def still_running(job: str, since: datetime | None) -> Closed:
    """Closed while an earlier attempt goes on in a thread, which cannot be stopped."""
    return Closed(
        status=states.QUEUED,
        kind="worker",
        detail=f"an earlier attempt still runs in a thread: job {job}",
        blockers=(
            Blocker(
                kind="thread",
                id=job,
                detail="its lease is over, but a thread cannot be stopped",
                since=since,
            ),
        ),
    )


def _busy(lane: Lane, fitting: Sequence[Worker]) -> Closed:
    """Every slot that such a job could have is taken."""
    return Closed(
        status=states.QUEUED,
        kind="worker",
        detail=f"every worker for queue {lane.queue} with {lane.job_type} is full",
        blockers=tuple(blocker for worker in fitting for blocker in _taken(worker, lane)),
        is_busy=True,
    )


def _taken(worker: Worker, lane: Lane) -> Iterator[Blocker]:
    if not worker.alive or worker.draining_since is not None:
        yield _unfit(worker, lane)
        return
    yield Blocker(
        kind="worker",
        id=worker.worker_id,
        status="full",
        detail=f"{len(worker.holds)} of {worker.slots} slots are taken",
        since=worker.full_since,
    )
    for job in worker.holds:
        yield Blocker(kind="job", id=job, detail=f"has a slot of worker {worker.worker_id}")


def _unfit(worker: Worker, lane: Lane) -> Blocker:
    refused = worker.abilities.refusal(lane)
    if refused is None and worker.alive:
        return Blocker(
            kind="worker",
            id=worker.worker_id,
            status="draining",
            detail="takes no more jobs",
            since=worker.draining_since,
        )
    said = refused or ("is gone" if worker.gone else "is silent")
    return Blocker(kind="worker", id=worker.worker_id, detail=said, since=worker.last_seen)
