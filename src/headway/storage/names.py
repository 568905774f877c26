"""What jobs are called, and the words by which a search finds them: as rows."""

from typing import Any

from headway.domain import search
from headway.domain.jobs import Terms


def named(number: int, terms: Terms) -> list[dict[str, Any]]:
    """The row of a job that has a name or tags."""
    found = search.words(_texts(terms))
    if terms.name is None and not found:
        return []
    return [{"job_number": number, "name": terms.name, "words": f" {' '.join(found)} "}]


def words(number: int, terms: Terms) -> list[dict[str, Any]]:
    """A row for each word of a job's name and tags."""
    return [{"word": word, "job_number": number} for word in search.words(_texts(terms))]


def _texts(terms: Terms) -> tuple[str, ...]:
    return terms.tags if terms.name is None else (terms.name, *terms.tags)
