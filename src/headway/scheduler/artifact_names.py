"""The artifacts that a job needs and produces, each by its one name."""

from collections.abc import Sequence

from headway.domain import artifacts, errors
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs
from headway.storage.transaction import Transaction


def read(
    scheduler: Scheduler, tx: Transaction, field: str, texts: Sequence[str]
) -> tuple[str, ...]:
    """The names in this field of a request, each once."""
    if not texts:
        return ()
    try:
        return tuple(dict.fromkeys(_name(scheduler, tx, field, text) for text in texts))
    except errors.InvalidArtifact as error:
        raise error.at(field) from None


def _name(scheduler: Scheduler, tx: Transaction, field: str, text: str) -> str:
    """A job named by its number is named by its id from here on."""
    artifact = artifacts.parse(text, scheduler.kinds)
    probe = artifact.probe[0]
    if artifact.name.startswith("job:") and isinstance(probe, artifacts.JobSucceeded):
        try:
            return f"job:{jobs.read_one(tx, probe.job).job_id}"
        except errors.NotFound:
            raise errors.UnknownReference(field, "job", probe.job) from None
    return artifact.name
