"""Lists of jobs find exactly what matches, whichever index names the jobs, page after page."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import pytest
from tests.helpers import MovableClock, claim, finish

from headway.domain import search, states
from headway.domain.jobs import Job
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.search import Term
from headway.scheduler.explain import views
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import submit
from headway.storage.engine.transaction import Transaction
from headway.storage.lists import candidates, job_lists
from headway.storage.lists.job_lists import JobFilter

LIMIT = 4


@pytest.fixture
def filled(scheduler: Scheduler, clock: MovableClock) -> list[Job]:
    """Jobs of every kind, newest first; the clock was set back once."""
    first = submit.submit(scheduler, _request(0, after=())).number
    for round_number, step_s in enumerate((60, 60, -90, 60)):
        clock.move(seconds=step_s)
        wanted = [_request(n + 3 * round_number, after=(first,)) for n in range(14)]
        scheduler.store.write(partial(_submit, scheduler, wanted))
        finish(scheduler, claim(scheduler, 5)[1:])
    return scheduler.store.read(partial(_all, scheduler))


def _submit(scheduler: Scheduler, wanted: list[BatchJobRequest], tx: Transaction) -> None:
    submit.submit_all(scheduler, tx, wanted)


def _all(scheduler: Scheduler, tx: Transaction) -> list[Job]:
    rows = tx.select("SELECT number FROM jobs ORDER BY number DESC", {})
    return views.views(scheduler, tx, [row["number"] for row in rows])


def _request(n: int, after: tuple[int, ...]) -> BatchJobRequest:
    return BatchJobRequest(
        job_type=f"type-{n % 3}",
        queue=f"queue-{n % 4}",
        tags=("even",) if n % 2 == 0 else ("odd", "third") if n % 3 == 0 else (),
        approval=n % 7 == 3,
        after=after if n % 9 == 5 else (),
        name=f"Report {n % 5} of {('north', 'south')[n % 2]}" if n % 3 == 1 else None,
    )


def _filters(filled: list[Job]) -> Iterator[JobFilter]:
    some: tuple[dict[str, Any], ...] = (
        {},
        {"queue": "queue-1"},
        {"job_type": "type-2"},
        {"queue": "queue-2", "job_type": "type-0"},
        {"queue": "none"},
        {"tag": "odd"},
        {"tag": "third", "queue": "queue-3"},
        {"group_id": "none"},
        {"template_id": "none"},
        {"name": "Report 4 of north"},
        {"name": "report 4 of north"},
        {"terms": search.read("REP nor")},
        {"terms": search.read("4"), "queue": "queue-0"},
        {"terms": search.read("type 2")},
        {"terms": search.read("thi")},
        {"terms": search.read(filled[30].job_id[:-4])},
    )
    statuses = (
        (),
        (states.SUCCEEDED,),
        (states.RUNNING,),
        (states.QUEUED,),
        (states.WAITING_ON_APPROVAL, states.WAITING_ON_DEPS),
        (states.QUEUED, states.SUCCEEDED),
        tuple(sorted(states.ACTIVE)),
    )
    moments = (None, filled[-1].created_at, filled[9].created_at, filled[40].created_at)
    later = filled[0].created_at + timedelta(days=1)
    for one in some:
        for listed in statuses:
            for since in (*moments, later):
                yield JobFilter(statuses=listed, since=since, **one)
            yield JobFilter(statuses=listed, until=moments[2], **one)
            yield JobFilter(statuses=listed, since=moments[3], until=moments[2], **one)


def _matches(job: Job, wanted: JobFilter) -> bool:
    return (
        (not wanted.statuses or job.status in wanted.statuses)
        and wanted.queue in (None, job.queue)
        and wanted.job_type in (None, job.job_type)
        and (wanted.tag is None or wanted.tag in job.tags)
        and wanted.group_id in (None, job.group_id)
        and wanted.template_id in (None, job.template_id)
        and (wanted.since is None or job.created_at >= wanted.since)
        and (wanted.until is None or job.created_at < wanted.until)
        and wanted.name in (None, job.name)
        and all(_has(job, term) for term in wanted.terms)
    )


def _has(job: Job, term: Term) -> bool:
    known = search.words((job.name or "", job.job_type, *job.tags))
    return (
        job.number == term.number
        or (term.ids is not None and term.ids.first <= job.job_id <= term.ids.last)
        or all(any(map(word.fits, known)) for word in term.words)
    )


def _some_pages(wanted: JobFilter, tx: Transaction) -> list[list[int]]:
    return list(islice(_pages(tx, wanted), 100))


def _pages(tx: Transaction, wanted: JobFilter) -> Iterator[list[int]]:
    before: int | None = None
    while True:
        found = job_lists.find(tx, msgspec.structs.replace(wanted, before_number=before), LIMIT + 1)
        numbers = [one.key for one in found.jobs]
        yield numbers[:LIMIT]
        before = numbers[LIMIT - 1] if len(numbers) > LIMIT else found.looked_down_to
        if before is None:
            return


@pytest.mark.parametrize("looked_at", [(), (3, 5), job_lists.LOOKED_AT])
@pytest.mark.parametrize(("lanes", "words"), [(2, 1), (candidates.MOST_LANES,) * 2])
def test_pages_hold_exactly_what_matches(
    scheduler: Scheduler,
    filled: list[Job],
    monkeypatch: pytest.MonkeyPatch,
    looked_at: tuple[int, ...],
    lanes: int,
    words: int,
) -> None:
    monkeypatch.setattr(job_lists, "LOOKED_AT", looked_at)
    monkeypatch.setattr(candidates, "MOST_LANES", max(lanes, LIMIT + 1))
    monkeypatch.setattr(candidates, "MOST_WORDS", words)
    for wanted in _filters(filled):
        expected = [job.number for job in filled if _matches(job, wanted)]
        pages = scheduler.store.read(partial(_some_pages, wanted))
        assert [number for page in pages for number in page] == expected, wanted
