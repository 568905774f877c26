"""Which submits write alone: those of jobs that wait for what others may end."""

from collections.abc import Iterable

from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler.submit import references
from headway.scheduler.submit.known_templates import Templates
from headway.storage.engine.transaction import Transaction
from headway.storage.jobs import LaneIds


def look(
    tx: Transaction,
    new: Iterable[JobRequest],
    known: Templates,
    lane_ids: LaneIds,
    *,
    finds_some: bool,
) -> None:
    """Find out before numbers are taken: they stay taken when the work begins again.

    `finds_some` says that the batch found jobs by their keys. A ref may then name one of those.
    """
    for request in new:
        template = known.find(request.template)
        lane_ids.find(job_requests.lane_of(request, template))
        waits = references.names_earlier_jobs(request) or (finds_some and request.after)
        if waits or job_requests.is_gated(request, template):
            tx.alone()
