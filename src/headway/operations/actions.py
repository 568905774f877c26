"""The same change of many jobs: slice by slice, each in a short transaction of its own."""

import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import Protocol

import msgspec

from headway.domain import errors, states
from headway.domain.manage.audit import ranges
from headway.domain.requests import action_requests
from headway.domain.requests.action_requests import Action, Refusal, Wanted
from headway.operations import job_filters, paging
from headway.operations.bound import Call, serves_blocking
from headway.protocol import jobs as protocol
from headway.protocol.jobs import ActionBody, ActionReport, JobSelection
from headway.protocol.operation import Nothing
from headway.scheduler.change import many
from headway.scheduler.change.many import Asked, Judged
from headway.scheduler.explain import status
from headway.scheduler.manage import audit
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.lists import job_lists
from headway.storage.lists.job_lists import JobFilter

SLICE = 100
"""So many jobs are changed in one transaction."""

MOST_S = 10.0
"""So long one request works; its answer says where the next one goes on."""

MOST_IDS = 10_000
MOST_REFUSALS = 1000

CONCERNED = {
    Action.CANCEL: "active",
    Action.RETRY: "failed,timeout",
    Action.APPROVE: "waiting_on_approval",
    Action.REPRIORITISE: ",".join(sorted(states.WAITING)),
}
"""The statuses that an action concerns, where the filter names none."""


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the jobs that are meant, and what the next slice begins with, if there is one."""

    numbers: Sequence[int]
    unknown: Sequence[Refusal] = ()
    next: int | None


class Source(Protocol):
    """Where the jobs come from."""

    def read(self, tx: Transaction, place: int | None) -> Slice:
        """The slice that begins here."""

    def still(self, tx: Transaction, numbers: Sequence[int]) -> Collection[int]:
        """Those of these jobs, read before, that are meant as they are now."""

    def others(self, tx: Transaction, numbers: Collection[int]) -> Collection[int]:
        """Those of these jobs, of other slices, that are meant as well."""


class ById:
    """Jobs that were named one by one."""

    def __init__(self, ids: Sequence[str | int]) -> None:
        self._ids = ids

    def read(self, tx: Transaction, place: int | None) -> Slice:
        start = place or 0
        numbers: dict[int, None] = {}
        unknown = []
        for one in self._ids[start : start + SLICE]:
            try:
                numbers[jobs.find_number(tx, one)] = None
            except errors.NotFound as error:
                unknown.append(Refusal(job_id=str(one), code=error.code))
        more = start + SLICE < len(self._ids)
        return Slice(numbers=list(numbers), unknown=unknown, next=start + SLICE if more else None)

    def still(self, tx: Transaction, numbers: Sequence[int]) -> Collection[int]:
        return numbers

    def others(self, tx: Transaction, numbers: Collection[int]) -> Collection[int]:
        """None: who is named alone is meant with all of its chain."""
        return ()


class ByFilter:
    """Jobs that a filter names, newest first; those that come later are not among them."""

    def __init__(self, call: Call[ActionBody, Nothing], asked: JobSelection) -> None:
        if asked.status is None:
            asked = msgspec.structs.replace(asked, status=CONCERNED[call.body.action])
        self._scheduler = call.scheduler
        self._wanted = call.scheduler.store.read(lambda tx: job_filters.read(tx, asked))

    def read(self, tx: Transaction, place: int | None) -> Slice:
        found = job_lists.find(tx, self._below(place), SLICE)
        numbers = [one.key for one in found.jobs]
        end = numbers[-1] if len(numbers) == SLICE else found.looked_down_to
        return Slice(numbers=self._as_shown(tx, numbers), next=end)

    def _below(self, place: int | None) -> JobFilter:
        return msgspec.structs.replace(self._wanted, before_number=place)

    def _as_shown(self, tx: Transaction, numbers: Sequence[int]) -> Sequence[int]:
        """What closes a gate just now shows in the status, and the filter uses what is shown."""
        waiting = states.WAITING & frozenset(self._wanted.statuses)
        if not waiting or waiting == states.WAITING:
            return numbers
        shown = status.views(self._scheduler, tx, numbers)
        return [job.number for job in shown if job.status in self._wanted.statuses]

    def still(self, tx: Transaction, numbers: Sequence[int]) -> Collection[int]:
        return job_lists.among(tx, self._wanted, numbers)

    def others(self, tx: Transaction, numbers: Collection[int]) -> Collection[int]:
        return job_lists.among(tx, self._wanted, numbers)


class Tally:
    """What came of it so far."""

    def __init__(self) -> None:
        self.matched = self.changed = self.refused_count = 0
        self.refused: list[Refusal] = []

    def add(self, unknown: Sequence[Refusal], judged: Judged) -> None:
        """One slice."""
        refused = [*unknown, *judged.refused]
        self.changed += len(judged.to_change)
        self.matched += len(judged.to_change) + len(judged.refused)
        self.refused_count += len(refused)
        self.refused += refused[: MOST_REFUSALS - len(self.refused)]

    def report(self, following: int | None) -> ActionReport:
        """The answer, and where the next request goes on, if at all."""
        return ActionReport(
            matched=self.matched,
            changed=self.changed,
            refused=self.refused,
            refused_count=self.refused_count,
            next_cursor=None if following is None else paging.write_cursor(following),
        )


@serves_blocking(protocol.act_on_jobs)
def act_on_jobs(call: Call[ActionBody, Nothing]) -> ActionReport:
    """Cancel, retry, approve or reprioritise many jobs; `dry_run` only says what would be done."""
    body = call.body
    wanted = action_requests.wanted(body.action, body.priority, body.reason)
    source = _source(call)
    tally = Tally()
    place = paging.read_number(body.cursor)
    give_up = time.monotonic() + MOST_S
    while True:
        found = call.scheduler.store.read(partial(source.read, place=place))
        tally.add(found.unknown, _done(call, wanted, source, found.numbers))
        place = found.next
        if place is None or time.monotonic() >= give_up:
            return tally.report(place)


def _source(call: Call[ActionBody, Nothing]) -> Source:
    body = call.body
    if (body.filter is None) == (body.ids is None):
        raise errors.InvalidRequest("filter", "give exactly one of filter and ids")
    if body.filter is not None:
        return ByFilter(call, body.filter)
    assert body.ids is not None
    if not 1 <= len(body.ids) <= MOST_IDS:
        raise errors.InvalidRequest("ids", f"give 1 to {MOST_IDS} ids, not {len(body.ids)}")
    return ById(body.ids)


def _done(
    call: Call[ActionBody, Nothing], wanted: Wanted, source: Source, numbers: Sequence[int]
) -> Judged:
    """One slice, in a transaction of its own."""
    if not numbers:
        return Judged([], [])
    work = partial(_do, call, wanted, source, numbers)
    store = call.scheduler.store
    return store.read(work) if call.body.dry_run else store.write(work)


def _do(
    call: Call[ActionBody, Nothing],
    wanted: Wanted,
    source: Source,
    numbers: Sequence[int],
    tx: Transaction,
) -> Judged:
    """Judge the jobs that are still meant, and change those that may be changed."""
    asked = Asked(call.scheduler, tx, wanted, call.principal)
    meant = jobs.read(tx, source.still(tx, numbers))
    judged = many.judge(asked, meant, partial(source.others, tx))
    if call.body.dry_run:
        return judged
    done = many.act(asked, judged)
    if done.to_change:
        told = f"{wanted.action} jobs {ranges(one.number for one in done.to_change)}"
        audit.note(call.scheduler, tx, call.principal, "act_on_jobs", told)
    return done
