"""Whether the server can do its work, and if not, why."""

import msgspec

from headway.domain.errors import HeadwayError
from headway.scheduler.scheduler import Scheduler


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `/readyz`."""

    ready: bool
    problems: list[str]


def readiness(scheduler: Scheduler, recovered: bool, stopping: bool) -> Readiness:
    """Ready means: recovered, not stopping, and the database can be read and written."""
    problems = []
    if not recovered:
        problems.append("recovery has not finished")
    if stopping:
        problems.append("the server is stopping")
    if scheduler.store.writer.problem:
        problems.append(f"the last write failed: {scheduler.store.writer.problem}")
    try:
        scheduler.store.read(lambda tx: tx.rows("event_bounds"))
    except HeadwayError as error:
        problems.append(error.detail)
    return Readiness(ready=not problems, problems=problems)
