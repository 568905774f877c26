"""The job whose handler runs here: what it submits are its children."""

from contextvars import ContextVar

_CURRENT: ContextVar[str | None] = ContextVar("headway_parent", default=None)


def enter(job_id: str | None) -> None:
    """From here on, in this context, the handler of this job runs; None: that of no job."""
    _CURRENT.set(job_id)


def current() -> str | None:
    """The job whose handler runs in this context."""
    return _CURRENT.get()
