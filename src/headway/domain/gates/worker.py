"""Gate 9: is there a worker that takes such jobs?"""

from collections.abc import Sequence

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Lane
from headway.domain.workers import Worker


def check(lane: Lane, workers: Sequence[Worker]) -> Closed | None:
    """Closed while no living worker takes jobs of this lane."""
    living = [worker for worker in workers if worker.alive]
    if any(worker.abilities.refusal(lane) is None for worker in living):
        return None
    wanted = ", ".join((lane.job_type, *lane.requires))
    return Closed(
        status=states.QUEUED,
        kind="worker",
        detail=f"no worker for queue {lane.queue} with {wanted}",
        blockers=tuple(
            Blocker(
                kind="worker",
                id=worker.worker_id,
                detail=worker.abilities.refusal(lane) if worker.alive else "is gone",
                since=worker.last_seen,
            )
            for worker in workers
        ),
        forever=True,
    )
