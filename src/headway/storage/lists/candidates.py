"""The newest jobs that one filter lets through, as an index names them."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from headway.domain.search import Ids, Term, Word
from headway.domain.states import JobStatus
from headway.storage import records
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction

AFTER_ALL = 2**62
"""A number and a moment behind all that there are."""

MOST_LANES = 201
"""As many as a page has jobs: the newest jobs are in the lanes that have the newest jobs."""

MOST_WORDS = 201
"""Where more words begin in the same way, the search is not narrow."""


class Candidates(NamedTuple):
    """Job numbers, newest first, and below which number there may be more, if there may."""

    numbers: Sequence[int]
    looked_down_to: int | None = None


class Indexes:
    """Names jobs with numbers below one of them, so many at most."""

    def __init__(self, tx: Transaction, before: int) -> None:
        self._tx = tx
        self._before = before

    def newest(self, query: str, count: int, **params: Any) -> Candidates:
        """The newest jobs that a query names."""
        return _joined([self._numbers(query, count, **params)], count)

    def of_statuses(self, query: str, statuses: Iterable[JobStatus], count: int) -> Candidates:
        """The newest jobs that a query names for one of these statuses."""
        return _joined([self._numbers(query, count, status=one) for one in statuses], count)

    def between(self, since_ms: int, until_ms: int, count: int) -> Candidates | None:
        """All jobs from one moment on and before another, unless there are too many."""
        rows = self._tx.rows("oldest_since", since=since_ms, until=until_ms, count=count)
        if len(rows) >= count:
            return None
        numbers = (row["number"] for row in rows if row["number"] < self._before)
        return Candidates(sorted(numbers, reverse=True))

    def of_lanes(self, queue: str | None, job_type: str | None, count: int) -> Candidates:
        """The newest jobs of a queue, of a job type, or of both."""
        rows = self._tx.rows("lanes_of", queue=queue, job_type=job_type)
        return self._of_lanes([row["lane_id"] for row in rows], count)

    def of_term(self, term: Term, job_types: Collection[str], count: int) -> Candidates | None:
        """Jobs that a term of a search may mean, unless too many words begin like it."""
        parts = [
            Candidates([term.number] if term.number and term.number < self._before else ()),
            self._of_ids(term.ids, count) if term.ids else Candidates(()),
            self._of_word(term.longest, count),
            self._of_types(job_types, count) if job_types else Candidates(()),
        ]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        floor = max(part.looked_down_to or 0 for part in found)
        return _joined([part.numbers for part in found], AFTER_ALL, floor)

    def _of_ids(self, ids: Ids, count: int) -> Candidates | None:
        numbers = self._numbers("newest_of_ids", count, first=ids.first, last=ids.last)
        return None if len(numbers) >= count else Candidates(sorted(numbers, reverse=True))

    def _of_word(self, word: Word, count: int) -> Candidates | None:
        """Jobs with words that fit this one."""
        rows = self._tx.rows("words_from", first=word.text, last=word.last, count=MOST_WORDS)
        if len(rows) == MOST_WORDS:
            return None
        each = max(count // max(len(rows), 1), MOST_LANES)
        words = records.listed(row["word"] for row in rows)
        return _merged(
            self._tx.rows("newest_of_words", words=words, before=self._before, count=each),
            "word",
            each,
        )

    def _of_types(self, job_types: Collection[str], count: int) -> Candidates:
        rows = self._tx.rows("lanes_of_types", job_types=records.listed(job_types))
        return self._of_lanes([row["lane_id"] for row in rows], count)

    def _of_lanes(self, lane_ids: Sequence[int], count: int) -> Candidates:
        rows = self._lanes_by_newest(lane_ids)
        if not rows:
            return Candidates(())
        each = max(count // len(rows), MOST_LANES)
        lanes = records.listed(row["lane_id"] for row in rows)
        left_out = rows[-1]["newest"] if len(rows) == MOST_LANES else 0
        newest = self._tx.rows("newest_of_lanes", lane_ids=lanes, before=self._before, count=each)
        return _merged(newest, "lane_id", each, left_out)

    def _lanes_by_newest(self, lanes: Sequence[int]) -> Sequence[Any]:
        return self._tx.rows(
            "lanes_by_newest",
            lane_ids=records.listed(lanes),
            before=self._before,
            count=MOST_LANES,
        )

    def _numbers(self, query: str, count: int, **params: Any) -> list[int]:
        rows = self._tx.rows(query, before=self._before, count=count, **params)
        return [row["number"] for row in rows]


def _merged(rows: Iterable[Row], key: str, count: int, least: int = 0) -> Candidates:
    """The newest jobs of each key, so many of each, as those of all."""
    parts: dict[Any, list[int]] = {}
    for row in rows:
        parts.setdefault(row[key], []).append(row["number"])
    return _joined([sorted(part, reverse=True) for part in parts.values()], count, least)


def _joined(parts: Sequence[Sequence[int]], count: int, least: int = 0) -> Candidates:
    """Down to where the first part that is cut off ends, all parts are complete."""
    floor = max((part[-1] for part in parts if len(part) >= count), default=0)
    floor = max(floor, least)
    numbers = sorted({one for part in parts for one in part if one >= floor}, reverse=True)
    return Candidates(numbers, floor or None)
