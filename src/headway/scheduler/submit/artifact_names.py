"""The artifacts that a job needs and produces, each by its one name."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from headway.domain import artifacts, errors
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit.named_jobs import EarlierJobs

JOB = "job:"


def jobs_named(scheduler: Scheduler, texts: Iterable[str]) -> Iterator[str]:
    """The jobs that some of these artifacts name; what cannot be read is refused later."""
    for text in texts:
        with contextlib.suppress(errors.InvalidArtifact):
            if (job := _job(artifacts.parse(text, scheduler.kinds))) is not None:
                yield job


def _job(artifact: artifacts.Artifact) -> str | None:
    probe = artifact.probe[0]
    if artifact.name.startswith(JOB) and isinstance(probe, artifacts.JobSucceeded):
        return probe.job
    return None


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
    name = _job(artifact)
    if name is None:
        return artifact.name
    job = earlier.find(name)
    if job is None:
        raise errors.UnknownReference(field, "job", name)
    return JOB + job.job_id
