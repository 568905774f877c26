"""Jobs that seem to run, while the process that ran them is gone."""

from headway.cli.session import Session
from headway.client import calls
from headway.domain import states
from headway.domain.jobs import Job

MEND = "start it again with `headway serve` and the job is recovered"


def workers(session: Session) -> set[str]:
    """The servers that are gone, each by the name of its worker."""
    found = session.send(calls.list_workers()).items
    return {one.worker_id for one in found if one.built_in and not one.alive}


def reason(session: Session, job: Job) -> str | None:
    """Why a running job does not go on and what to do, if the process that ran it is gone."""
    if job.status is not states.RUNNING or job.worker_id not in workers(session):
        return None
    return sentence(job.worker_id)


def sentence(worker_id: str) -> str:
    """What became of a server, or of a `headway run`, and what to do."""
    if worker_id.startswith("run-"):
        return "the `headway run` that ran it is gone; `headway serve` recovers the job"
    return f"the server that ran it is gone; {MEND}"
