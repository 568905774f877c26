"""Filters of jobs, as they are asked for."""

from headway.domain import errors, search, states
from headway.domain.states import JobStatus
from headway.protocol.jobs import JobSelection
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.lists.job_lists import JobFilter
from headway.storage.manage import groups


def read(tx: Transaction, asked: JobSelection, before: int | None = None) -> JobFilter:
    """Which jobs are asked for, below a number; a group may be called by its name."""
    group = groups.named(tx, asked.group_id) if asked.group_id is not None else None
    return JobFilter(
        statuses=_statuses(asked.status),
        queue=asked.queue,
        job_type=asked.job_type,
        tag=asked.tag,
        group_id=group.group_id if group else asked.group_id,
        template_id=asked.template_id,
        parent=None if asked.parent_id is None else jobs.read_one(tx, asked.parent_id).chain,
        name=asked.name,
        terms=search.read(asked.search) if asked.search and asked.search.strip() else (),
        since=asked.since,
        until=asked.until,
        before_number=before,
    )


def _statuses(text: str | None) -> tuple[JobStatus, ...]:
    """Status words with commas between them; `active` and `ended` are several."""
    if text is None:
        return ()
    found: list[JobStatus] = []
    for word in text.split(","):
        if word.strip().lower() == "active":
            found += sorted(states.ACTIVE)
        elif word.strip().lower() == "ended":
            found += sorted(states.TERMINAL)
        else:
            try:
                found.append(states.read(word))
            except ValueError:
                known = ", ".join(JobStatus)
                raise errors.InvalidRequest("status", f"{word!r} is not one of {known}") from None
    return tuple(found)
