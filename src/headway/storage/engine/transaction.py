"""A transaction: named queries, one moment in time, its history, and the wake-ups of its commit."""

import enum
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar, overload

from headway.domain.values import moments
from headway.storage.engine import codec
from headway.storage.engine.question import Question, Row

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")

READY = "ready"
"""A job may be claimable now."""
DUE = "due"
"""The next moment at which something is due may have changed."""
SAFETY_POLL_S = 5.0
"""The longest sleep, in case a wake-up was lost."""
SHORT_WAIT = timedelta(seconds=1)
"""How much later than its own time a transaction may be without looking at the clock again."""
EVENTS = "events"
"""There are new events."""
DELIVERIES = "deliveries"
"""There is something to deliver."""
TOKENS = "tokens"
"""A token was revoked."""


class Manner(enum.Enum):
    """Whether a transaction writes alone or beside others."""

    ALONE = enum.auto()
    """No other transaction writes meanwhile."""
    BESIDE = enum.auto()
    """Others may write meanwhile, where the database allows it."""
    APART = enum.auto()
    """Like BESIDE, but in no transaction with other work: it locks what many need."""


class MustBeAlone(Exception):
    """The work needs to write alone: it is repeated, without concurrent writers."""


class Connection(Protocol):
    """What a dialect offers: six ways to run a statement."""

    beside: bool
    """Whether others may write at the same time."""
    repeats: bool
    """Whether work that collides with that of others is done again."""

    def alone(self) -> None:
        """Go on as the only writer."""

    def all(self, name: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a named query."""

    def values(self, kind: type[T], name: str, params: Mapping[str, Any]) -> list[T]:
        """All rows of a named query as values whose fields are its columns, in their order."""

    def select(self, sql: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a query that was put together from filters."""

    def expect(self, name: str, params: Mapping[str, Any]) -> None:
        """A named query is run next; what costs a round trip is sent at once, with others."""

    def run(self, name: str, params: Mapping[str, Any]) -> int:
        """Run a statement; return how many rows it touched."""

    def many(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for many rows at once."""


class Borrowed(Connection, Protocol):
    """A borrowed connection, whose owner commits."""

    def tell(self, topics: set[str]) -> None:
        """Wake listeners of these topics at the commit, where the database can."""


class Transaction:
    """Handed to every storage function."""

    def __init__(
        self, connection: Connection, now: datetime, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._connection = connection
        self._clock = clock
        self.now = now
        self.now_ms = moments.to_millis(now)
        self.wakes: set[str] = set()
        self._notes: list[tuple[str, str]] = []

    def look_at_the_clock(self) -> None:
        """If others were waited for since the transaction began, it is later now."""
        if self._clock is not None and (now := self._clock()) - self.now > SHORT_WAIT:
            self.now = now
            self.now_ms = moments.to_millis(now)

    @property
    def beside(self) -> bool:
        """Whether others may write at the same time."""
        return self._connection.beside

    @property
    def repeats(self) -> bool:
        """Whether this is done again if it collides with what others write."""
        return self._connection.repeats

    def alone(self) -> None:
        """From here on no other may write; if others do, the work is repeated without them."""
        self._connection.alone()

    def select(self, sql: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a query that was put together from filters."""
        return self._connection.select(sql, params)

    def rows(self, name: str, /, **params: Any) -> Sequence[Row]:
        """All rows of a named query."""
        return self._connection.all(name, params)

    def values(self, kind: type[T], name: str, /, **params: Any) -> list[T]:
        """All rows as values whose fields are the columns of the query, in their order."""
        return self._connection.values(kind, name, params)

    @overload
    def ask(self, a: Question[A], /, *, ahead: Iterable[Question[Any]] = ()) -> tuple[A]: ...

    @overload
    def ask(
        self, a: Question[A], b: Question[B], /, *, ahead: Iterable[Question[Any]] = ()
    ) -> tuple[A, B]: ...

    @overload
    def ask(self, a: Question[A], b: Question[B], c: Question[C], /) -> tuple[A, B, C]: ...

    @overload
    def ask(
        self, a: Question[A], b: Question[B], c: Question[C], d: Question[D], /
    ) -> tuple[A, B, C, D]: ...

    @overload
    def ask(
        self,
        a: Question[A],
        b: Question[B],
        c: Question[C],
        d: Question[D],
        e: Question[E],
        f: Question[F],
        /,
    ) -> tuple[A, B, C, D, E, F]: ...

    @overload
    def ask(
        self,
        a: Question[A],
        b: Question[B],
        c: Question[C],
        d: Question[D],
        e: Question[E],
        f: Question[F],
        g: Question[G],
        /,
    ) -> tuple[A, B, C, D, E, F, G]: ...

    @overload
    def ask(self, *questions: Question[A]) -> tuple[A, ...]: ...

    def ask(
        self, *questions: Question[Any], ahead: Iterable[Question[Any]] = ()
    ) -> tuple[Any, ...]:
        """The answers to some questions, one after the other, in one round trip.

        Questions in `ahead` are likely to be asked next. Where a round trip costs more than a query
        they are sent along, and their answers are as old as this call.
        """
        for question in (*questions, *ahead) if ahead or len(questions) > 1 else ():
            if question.name is not None:
                self._connection.expect(question.name, question.params)
        return tuple(question.read(self._connection) for question in questions)

    def row(self, name: str, /, **params: Any) -> Row | None:
        """The first row, if there is one."""
        found = self._connection.all(name, params)
        return found[0] if found else None

    def value(self, name: str, /, **params: Any) -> Any:
        """The first column of the first row; there must be one."""
        return next(iter(self._connection.all(name, params)[0].values()))

    def do(self, name: str, /, **params: Any) -> int:
        """Run a statement; return how many rows it touched."""
        return self._connection.run(name, params)

    def put(self, name: str, /, **params: Any) -> None:
        """Run a statement; its result is not waited for."""
        self._connection.many(name, [params])

    def many(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement for many rows at once; none is fine."""
        if listed := list(rows):
            self._connection.many(name, listed)

    def note(
        self, kind: str, job_number: int | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        """Add an event to the history, which is written when this unit of work is done."""
        value = codec.dump(data) if data else "null"
        self._notes.append((kind, f'"{"" if job_number is None else job_number}":{value}'))

    def note_all(self, kind: str, data: Mapping[int, Mapping[str, Any]]) -> None:
        """Add an event for each of some jobs, by number."""
        if data:
            self._notes.append((kind, codec.dump(data)[1:-1]))

    def write_notes(self) -> None:
        """Write the history in the order of the notes; called once, by what commits the work."""
        for kind, notes in itertools.groupby(self._notes, operator.itemgetter(0)):
            lines = ",".join(line for _, line in notes)
            self.put("insert_events", at=self.now_ms, kind=kind, lines=f"{{{lines}}}")
        if self._notes:
            self.wake(EVENTS)
            self._notes = []

    def wake(self, *topics: str) -> None:
        """Wake the listeners of these topics, once this is committed."""
        self.wakes.update(topics)

    def due_at(self, moment_ms: int) -> None:
        """Something will be due then; what is far off needs no wake-up now."""
        if moment_ms < self.now_ms + SAFETY_POLL_S * 1000:
            self.wakes.add(DUE)
