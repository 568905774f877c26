"""Custom artifacts by hand: markers that a person or program declares."""

from headway.domain import artifacts, errors
from headway.domain.answers import MarkerView
from headway.scheduler.admit import claim_waits
from headway.scheduler.finish import consequences, decide
from headway.scheduler.scheduler import Scheduler
from headway.storage import needs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import markers


def put(scheduler: Scheduler, tx: Transaction, type_: str, key: str) -> MarkerView:
    """The artifact is there: jobs that wait for it may go on."""
    name = _name(scheduler, type_, key)
    claim_waits.note(scheduler, tx)
    markers.put(tx, name)
    _tell_consumers(scheduler, tx, name)
    return view(scheduler, tx, type_, key)


def remove(scheduler: Scheduler, tx: Transaction, type_: str, key: str) -> MarkerView:
    """The artifact is gone: jobs that need it and have not started wait for it again."""
    found = view(scheduler, tx, type_, key)
    claim_waits.note(scheduler, tx)
    markers.remove(tx, found.artifact)
    _tell_consumers(scheduler, tx, found.artifact)
    return found


def view(scheduler: Scheduler, tx: Transaction, type_: str, key: str) -> MarkerView:
    """One custom artifact that is there."""
    name = _name(scheduler, type_, key)
    found = markers.find(tx, name)
    if found is None:
        raise errors.NotFound("artifact", name)
    return found


def after(tx: Transaction, name: str, count: int) -> list[MarkerView]:
    """Custom artifacts that are there, by name."""
    return markers.after(tx, name, count)


def _name(scheduler: Scheduler, type_: str, key: str) -> str:
    return artifacts.parse(f"{decide.MARKER}{type_}:{key}", scheduler.kinds).name


def _tell_consumers(scheduler: Scheduler, tx: Transaction, name: str) -> None:
    consequences.admit_or_end(scheduler, tx, needs.consumers(tx, [name]))
