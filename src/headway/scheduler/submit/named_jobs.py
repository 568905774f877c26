"""Jobs from before a submit that it names, looked up together."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headway.storage import records
from headway.storage.engine.transaction import Transaction

LONGEST_NUMBER = 18
"""Digits of the largest number that every database takes."""


class Earlier(NamedTuple):
    """A job, and the first job of its chain, which stands for it."""

    job_id: str
    chain: int


class EarlierJobs:
    """Jobs by the names that a submit uses for them: a number or an id."""

    def __init__(self, found: Mapping[str | int, Earlier]) -> None:
        self._found = found

    def find(self, name: str) -> Earlier | None:
        """The job with this name, if there is one."""
        return self._found.get(_key(name))


def look_up(tx: Transaction, names: Iterable[str]) -> EarlierJobs:
    """Read all jobs of these names with one query."""
    keys = {_key(name) for name in names}
    if not keys:
        return EarlierJobs({})
    rows = tx.rows(
        "chains_of_jobs",
        numbers=records.listed({key for key in keys if isinstance(key, int)}),
        job_ids=records.listed({key for key in keys if isinstance(key, str)}),
    )
    found: dict[str | int, Earlier] = {}
    for row in rows:
        found[row["number"]] = found[row["job_id"]] = Earlier(row["job_id"], abs(row["chain"]))
    return EarlierJobs(found)


def _key(name: str) -> str | int:
    text = name.strip()
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) <= LONGEST_NUMBER else text
    return text.lower()
