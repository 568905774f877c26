"""What became of a job that failed: what it said, and whether it is tried again."""

from datetime import UTC, datetime

from headway import protocol
from headway.cli.session import Session
from headway.cli.text import words
from headway.domain import states
from headway.domain.jobs import Job, RetryState

STREAMS = (("stderr", " --stderr"), ("stdout", ""))


_ENDS = {
    states.SUCCEEDED: "succeeded",
    states.SKIPPED: "was skipped",
    states.TIMEOUT: "timed out",
    states.CANCELLED: "was cancelled",
    states.BLOCKED_BY_DEPENDENCY: "was blocked by a dependency",
    states.BLOCKED_BY_APPROVAL: "was rejected",
}


def retry(session: Session, job: Job) -> str | None:
    """What became of trying a job again, if it failed."""
    if job.status not in states.RETRYABLE and job.retried_by is None:
        return None
    last = last_link(session, job)
    if last is not job:
        if last.status in states.TERMINAL:
            return f"job {last.number} tried it again and {_ENDS.get(last.status, 'failed')}"
        return f"job {last.number} tries it again, it is {_standing(last)}"
    by_hand = f"headway jobs retry {job.number}"
    if job.retry_state is RetryState.EXHAUSTED and job.crashes >= job.retry_policy.max_crashes:
        return f"it took its worker down {job.crashes} times; to try again: {by_hand}"
    if job.retry_state is RetryState.EXHAUSTED and job.attempt:
        return f"all {job.attempt + 1} attempts are used up; to try again: {by_hand}"
    return f"it is not tried again by itself; to do that: {by_hand}"


def last_link(session: Session, job: Job) -> Job:
    """The job that tries it again, or tries that one again in its turn."""
    while job.retried_by is not None:
        job = session.send(protocol.jobs.get_job, id=job.retried_by)
    return job


def _standing(job: Job) -> str:
    status = job.status.lower()
    if job.scheduled_for is None or job.scheduled_for < datetime.now(UTC):
        return status
    return f"{status}, not before {words.when(job.scheduled_for)}"


def tail_command(session: Session, job: Job) -> str | None:
    """How to read what a job printed, if it printed anything; errors first."""
    if job.run_id is None:
        return None
    for stream, option in STREAMS:
        if any(session.client.log(job.run_id, stream, tail=1)):
            return f"headway jobs tail {job.number}{option}"
    return None
