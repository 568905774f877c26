"""The artifacts that a job needs and produces, each by its one name."""

from collections.abc import Iterable, Iterator, Sequence

from headway.domain import artifacts, errors
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit.named_jobs import EarlierJobs

JOB = "job:"


def jobs_named(texts: Iterable[str]) -> Iterator[str]:
    """The jobs that some of these artifacts name."""
    return (text.removeprefix(JOB) for text in texts if text.startswith(JOB))


def read(
    scheduler: Scheduler, earlier: EarlierJobs, field: str, texts: Sequence[str]
) -> tuple[str, ...]:
    """The names in this field of a request, each once."""
    if not texts:
        return ()
    try:
        return tuple(dict.fromkeys(_name(scheduler, earlier, field, text) for text in texts))
    except errors.InvalidArtifact as error:
        raise error.at(field) from None


def _name(scheduler: Scheduler, earlier: EarlierJobs, field: str, text: str) -> str:
    """A job named by its number is named by its id from here on."""
    artifact = artifacts.parse(text, scheduler.kinds)
    probe = artifact.probe[0]
    if artifact.name.startswith(JOB) and isinstance(probe, artifacts.JobSucceeded):
        job = earlier.find(probe.job)
        if job is None:
            raise errors.UnknownReference(field, "job", probe.job)
        return JOB + job.job_id
    return artifact.name
