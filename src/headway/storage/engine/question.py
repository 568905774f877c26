"""Questions to the store: queries as values, so that several can be asked in one round trip."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
Answer = TypeVar("Answer", covariant=True)
Row = Mapping[str, Any]


class Readable(Protocol):
    """A connection that runs named queries."""

    def all(self, name: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a named query."""

    def values(self, kind: type[T], name: str, params: Mapping[str, Any]) -> list[T]:
        """All rows of a named query as values whose fields are its columns, in their order."""


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """A named query with its parameters; `read` runs it and makes a value of its rows.

    Without a name, the answer is known and nothing is run.
    """

    name: str | None
    params: Mapping[str, Any]
    read: Callable[[Readable], Answer]


def known(answer: T) -> Question[T]:
    """A question that needs no query."""
    return Question(None, {}, lambda _: answer)


def of_rows(make: Callable[[Sequence[Row]], T], name: str, /, **params: Any) -> Question[T]:
    """A query and what is made of its rows."""
    return Question(name, params, lambda connection: make(connection.all(name, params)))


def of_values(kind: type[T], name: str, /, **params: Any) -> Question[list[T]]:
    """A query whose columns are the fields of a value, in their order."""
    return Question(name, params, lambda connection: connection.values(kind, name, params))
