"""Jobs that seem to run, while the process that ran them is gone."""

from collections.abc import Sequence

from headway import protocol
from headway.cli.session import Session
from headway.domain import states
from headway.domain.jobs import Job
from headway.domain.workers import Worker

RUN_BY_HAND = "run-"
"""How the names of workers begin that `headway run` brings for its one job."""


def workers(session: Session) -> dict[str, str]:
    """What became of each server that is gone, and what to do, by the name of its worker."""
    return sentences(session.send(protocol.work.list_workers).items)


def sentences(found: Sequence[Worker]) -> dict[str, str]:
    """The same, from a list of workers."""
    another = any(
        one.built_in and one.alive and not one.worker_id.startswith(RUN_BY_HAND) for one in found
    )
    gone = [one.worker_id for one in found if one.built_in and not one.alive]
    return {worker_id: _sentence(worker_id, another=another) for worker_id in gone}


def warnings(session: Session, jobs: Sequence[Job]) -> list[str]:
    """Which of these jobs only seem to run, and that no worker is there to start the others."""
    if all(job.status in states.TERMINAL for job in jobs):
        return []
    known = session.send(protocol.work.list_workers).items
    gone = sentences(known)
    lost = [job for job in jobs if job.status is states.RUNNING and job.worker_id in gone]
    said = {gone[str(job.worker_id)]: "" for job in lost}
    for job in lost:
        said[gone[str(job.worker_id)]] += f" {job.number}"
    told = [f"job{numbers} does not go on: {sentence}" for sentence, numbers in said.items()]
    if not told and not any(one.alive for one in known):
        told = ["no server and no worker is running; jobs start when one does: headway serve"]
    return told


def reason(session: Session, job: Job) -> str | None:
    """Why a running job does not go on and what to do, if the process that ran it is gone."""
    if job.status is not states.RUNNING or job.worker_id is None:
        return None
    return workers(session).get(job.worker_id)


def _sentence(worker_id: str, *, another: bool) -> str:
    by_hand = worker_id.startswith(RUN_BY_HAND)
    who = "the `headway run`" if by_hand else "the server"
    if another:
        mend = "another server recovers the job when its lease ends"
    elif by_hand:
        mend = "`headway serve` recovers the job"
    else:
        mend = "start it again with `headway serve` and the job is recovered"
    return f"{who} that ran it is gone; {mend}"
