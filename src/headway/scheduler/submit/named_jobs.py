"""Jobs from before a submit that it names, looked up together."""

from collections.abc import Iterable
from typing import NamedTuple

from headway.storage import records
from headway.storage.transaction import Transaction

LONGEST_NUMBER = 18
"""Digits of the largest number that every database takes."""


class Earlier(NamedTuple):
    """A job, and the first job of its chain, which stands for it."""

    job_id: str
    chain: int


class EarlierJobs:
    """Jobs by the names that a submit uses for them: a number or an id."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._found: dict[str, Earlier | None] = {}

    def look_up(self, names: Iterable[str]) -> None:
        """Read all of these that are not known yet with one question."""
        new = {name: _key(name) for name in names if name not in self._found}
        if not new:
            return
        rows = self._tx.rows(
            "chains_of_jobs",
            numbers=records.listed({key for key in new.values() if isinstance(key, int)}),
            job_ids=records.listed({key for key in new.values() if isinstance(key, str)}),
        )
        known: dict[str | int, Earlier] = {}
        for row in rows:
            known[row["number"]] = known[row["job_id"]] = Earlier(row["job_id"], abs(row["chain"]))
        self._found.update((name, known.get(key)) for name, key in new.items())

    def find(self, name: str) -> Earlier | None:
        """The job with this name, if there is one."""
        if name not in self._found:
            self.look_up([name])
        return self._found[name]


def _key(name: str) -> str | int:
    text = name.strip()
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) <= LONGEST_NUMBER else text
    return text.lower()
