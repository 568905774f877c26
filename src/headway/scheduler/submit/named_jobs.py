"""Jobs from before a submit that it names, looked up together."""

from collections.abc import Iterable

from headway.storage import chains
from headway.storage.chains import Link
from headway.storage.engine.question import Question

LONGEST_NUMBER = 18
"""Digits of the largest number that every database takes."""


def named(names: Iterable[str]) -> Question[list[Link]]:
    """The jobs of these names, with their chains."""
    keys = {_key(name) for name in names}
    return chains.of_jobs(
        [key for key in keys if isinstance(key, int)],
        [key for key in keys if isinstance(key, str)],
    )


class EarlierJobs:
    """Jobs by the names that a submit uses for them: a number or an id."""

    def __init__(self, found: Iterable[Link] = ()) -> None:
        self._found: dict[str | int, Link] = {}
        for one in found:
            self._found[one.number] = self._found[one.job_id] = one

    def find(self, name: str) -> Link | None:
        """The job with this name, if there is one."""
        return self._found.get(_key(name))

    def chain(self, name: str) -> int:
        """The chain of a job that is known to exist."""
        return self._found[_key(name)].chain


def _key(name: str) -> str | int:
    text = name.strip()
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) <= LONGEST_NUMBER else text
    return text.lower()
