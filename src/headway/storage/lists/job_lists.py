"""Lists of jobs: their filters are put together here, and nowhere else.

A page is read in two steps. An index names the newest jobs that one filter lets through; the other
filters are checked for those. So many are looked at for one page and no more: where no filter is
narrow enough, a page ends early and says where the next one begins.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from headway.domain import search, states
from headway.domain.search import Term, Word
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine.slices import Sized
from headway.storage.engine.transaction import Transaction
from headway.storage.lists.candidates import AFTER_ALL, Candidates, Indexes

LOOKED_AT = (1000, 4000)
"""So many more jobs are looked at for one page, as long as too few of them match."""

LOOKED_FOR_UNTIL = 1000
"""Of so many jobs before a moment, the one with the highest number begins a list that ends there.
Only one from after the clock was set back by more than these took may be passed over."""


Types: TypeAlias = Mapping[Word, Sequence[str]]
"""The job types that have a word of a search, by that word."""


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to list; everything that is given must hold."""

    statuses: tuple[JobStatus, ...] = ()
    queue: str | None = None
    job_type: str | None = None
    tag: str | None = None
    group_id: str | None = None
    template_id: str | None = None
    parent: int | None = None
    """The first job of the parent's chain."""
    name: str | None = None
    terms: tuple[Term, ...] = ()
    """What is searched for: the job must have each of these terms."""
    since: datetime | None = None
    until: datetime | None = None
    """Submitted before this moment."""
    before_number: int | None = None

    @property
    def before(self) -> int:
        """Only jobs with lower numbers."""
        return AFTER_ALL if self.before_number is None else self.before_number


class Found(NamedTuple):
    """Jobs that match, newest first, and below which number more may follow, if they may."""

    jobs: list[Sized[int]]
    looked_down_to: int | None


class _Way(Protocol):
    """Names the newest jobs that one filter lets through, so many at most."""

    def __call__(self, *, count: int) -> Candidates | None: ...


def find(tx: Transaction, wanted: JobFilter, limit: int) -> Found:
    """The newest matching jobs, with the sizes of what they say."""
    jobs: list[Sized[int]] = []
    below: int | None = _start(tx, wanted)
    types = _types(tx, wanted)
    for count in (limit, *LOOKED_AT):
        if below is None or len(jobs) == limit:
            break
        looked_at = _narrowest(tx, wanted, types, below, count)
        jobs += _matching(tx, wanted, types, looked_at.numbers, limit - len(jobs))
        below = looked_at.looked_down_to
    if below is not None and wanted.since is not None:
        since = moments.to_millis(wanted.since)
        below = below if tx.rows("any_since", since=since, before=below) else None
    return Found(jobs, below)


def among(tx: Transaction, wanted: JobFilter, numbers: Collection[int]) -> set[int]:
    """Those of these jobs that match."""
    found = _matching(tx, wanted, _types(tx, wanted), sorted(numbers), len(numbers))
    return {one.key for one in found}


def _start(tx: Transaction, wanted: JobFilter) -> int:
    """Below which number to begin."""
    if wanted.until is None:
        return wanted.before
    until = moments.to_millis(wanted.until)
    (row,) = tx.rows("newest_until", until=until, count=LOOKED_FOR_UNTIL)
    newest: int = row["number"]
    return min(wanted.before, newest + 1)


def _types(tx: Transaction, wanted: JobFilter) -> Types:
    """Which job types have which words of the search."""
    if not wanted.terms:
        return {}
    known = [(row["job_type"], search.words((row["job_type"],))) for row in tx.rows("job_types")]
    return {
        word: [name for name, words in known if any(map(word.fits, words))]
        for term in wanted.terms
        for word in term.words
    }


def _matching(
    tx: Transaction, wanted: JobFilter, types: Types, numbers: Sequence[int], limit: int
) -> list[Sized[int]]:
    """Those of these jobs that every filter lets through."""
    where, params = _conditions(wanted)
    for place, term in enumerate(wanted.terms):
        where += f" AND {_term(term, types, f'term_{place}', params)}"
    rows = tx.select(
        "SELECT j.number, length(j.terms) AS size FROM :numbers[bigint] n CROSS JOIN jobs j "
        f"WHERE j.number = n.value{where} ORDER BY j.number DESC LIMIT :limit",
        {**params, "numbers": records.listed(numbers), "limit": limit},
    )
    return [Sized(row["number"], row["size"]) for row in rows]


def _narrowest(
    tx: Transaction, wanted: JobFilter, types: Types, before: int, count: int
) -> Candidates:
    """What the first filter names that lets so few jobs through that all can be looked at."""
    indexes = Indexes(tx, before)
    first: Candidates | None = None
    for way in _ways(indexes, wanted, types):
        found = way(count=count)
        if found is not None and found.looked_down_to is None:
            return found
        first = first or found
    return first or indexes.newest("newest_before", count)


def _ways(indexes: Indexes, wanted: JobFilter, types: Types) -> Iterator[_Way]:
    """What each filter names, the one that is likely to be narrowest first."""
    if wanted.parent is not None:
        yield partial(indexes.newest, "newest_of_parent", parent=wanted.parent)
    if wanted.name is not None:
        yield partial(indexes.newest, "newest_of_name", name=wanted.name)
    if wanted.group_id is not None:
        yield partial(indexes.newest, "newest_of_group", group_id=wanted.group_id)
    if wanted.tag is not None:
        yield partial(indexes.newest, "newest_of_tag", tag=wanted.tag)
    for term in wanted.terms:
        yield partial(indexes.of_term, term, types[term.longest])
    if wanted.template_id is not None:
        yield partial(indexes.newest, "newest_of_template", template_id=wanted.template_id)
    by_status = _way_by_status(indexes, frozenset(wanted.statuses))
    is_rare = states.SUCCEEDED not in wanted.statuses and states.QUEUED not in wanted.statuses
    if by_status is not None and is_rare:
        yield by_status
    if wanted.queue is not None or wanted.job_type is not None:
        yield partial(indexes.of_lanes, wanted.queue, wanted.job_type)
    if wanted.since is not None or wanted.until is not None:
        since = 0 if wanted.since is None else moments.to_millis(wanted.since)
        until = AFTER_ALL if wanted.until is None else moments.to_millis(wanted.until)
        yield partial(indexes.between, since, until)
    if by_status is not None and not is_rare:
        yield by_status


def _way_by_status(indexes: Indexes, statuses: frozenset[JobStatus]) -> _Way | None:
    """A lock may be taken after a job was queued: those who wait for one are among all active."""
    if not statuses:
        return None
    if statuses <= states.TERMINAL:
        return partial(indexes.of_statuses, "newest_that_ended", sorted(statuses))
    if statuses <= {states.RUNNING}:
        return partial(indexes.newest, "newest_running")
    if statuses <= {states.SUSPENDED}:
        return partial(indexes.newest, "newest_suspended")
    if statuses <= states.CLAIMS:
        return partial(indexes.newest, "newest_claimed")
    if statuses <= states.WAITING - {states.QUEUED, states.WAITING_ON_LOCKS}:
        return partial(indexes.of_statuses, "newest_behind_a_gate", sorted(statuses))
    return partial(indexes.newest, "newest_active") if statuses <= states.ACTIVE else None


def _conditions(wanted: JobFilter) -> tuple[str, dict[str, Any]]:
    terms: list[str] = []
    params: dict[str, Any] = {}
    if wanted.statuses:
        terms.append(_status_term(wanted.statuses))
    for column in ("queue", "job_type"):
        if (value := getattr(wanted, column)) is not None:
            terms.append(f"j.lane_id IN (SELECT lane_id FROM lanes WHERE {column} = :{column})")
            params[column] = value
    for column in ("group_id", "template_id", "parent"):
        if (value := getattr(wanted, column)) is not None:
            terms.append(f"j.{column} = :{column}")
            params[column] = value
    if wanted.tag is not None:
        terms.append("EXISTS (SELECT 1 FROM tags WHERE tag = :tag AND job_number = j.number)")
        params["tag"] = wanted.tag
    if wanted.since is not None:
        terms.append("j.created_at >= :since")
        params["since"] = moments.to_millis(wanted.since)
    if wanted.until is not None:
        terms.append("j.created_at < :until")
        params["until"] = moments.to_millis(wanted.until)
    if wanted.name is not None:
        terms.append(
            "EXISTS (SELECT 1 FROM job_names WHERE job_number = j.number AND name = :name)"
        )
        params["name"] = wanted.name
    return "".join(f" AND {term}" for term in terms), params


def _term(term: Term, types: Types, mark: str, params: dict[str, Any]) -> str:
    """A job has a term of a search as its number, at the start of its id, or in its words."""
    ways = []
    if term.number is not None:
        ways.append(f"j.number = :{mark}_number")
        params[f"{mark}_number"] = term.number
    if term.ids is not None:
        ways.append(f"j.job_id BETWEEN :{mark}_first AND :{mark}_last")
        params[f"{mark}_first"], params[f"{mark}_last"] = term.ids
    words = []
    for place, word in enumerate(term.words):
        name = f"{mark}_word_{place}"
        params[name] = f"% {word.text} %" if word.whole else f"% {word.text}%"
        params[f"{name}_types"] = records.listed(types[word])
        words.append(
            "(EXISTS (SELECT 1 FROM job_names w"
            f" WHERE w.job_number = j.number AND w.words LIKE :{name}) OR j.lane_id IN"
            f" (SELECT lane_id FROM lanes WHERE lanes.job_type IN :{name}_types[text]))"
        )
    return f"({' OR '.join([*ways, ' AND '.join(words)])})"


_HELD_OFF = """EXISTS (SELECT 1 FROM lock_waiters w WHERE w.job_number = j.number AND EXISTS (
SELECT 1 FROM locks l WHERE l.key = w.key AND (w.mode = 'exclusive' OR l.mode = 'exclusive')
LIMIT 1 OFFSET 0) LIMIT 1 OFFSET 0)"""
_BEHIND = """EXISTS (SELECT 1 FROM lock_waiters w
WHERE w.job_number = j.number AND w.mode = 'shared' AND EXISTS (
SELECT 1 FROM lock_waiters x WHERE x.key = w.key AND x.mode = 'exclusive'
LIMIT 1 OFFSET 0) LIMIT 1 OFFSET 0)"""
"""With an offset, PostgreSQL looks for the lines of one job, and does not join those of all."""


def _status_term(statuses: tuple[JobStatus, ...]) -> str:
    """The statuses as they are stored, and what they miss.

    A lock that was taken since a job was admitted is not written down with the job: such a job
    waits for locks although it is stored as QUEUED. Too many are found rather than too few.
    """
    term = "j.status IN ({})".format(", ".join(f"'{status}'" for status in statuses))
    match states.QUEUED in statuses, states.WAITING_ON_LOCKS in statuses:
        case True, False:
            term += f" AND NOT (j.status = 'QUEUED' AND {_HELD_OFF})"
        case False, True:
            term = f"({term} OR (j.status = 'QUEUED' AND ({_HELD_OFF} OR {_BEHIND})))"
    return term
