"""Pipelining: statements without a result to wait for are sent with the next one that has one.

A round trip costs a writer more than most statements do. So here a statement whose answer is not
needed is only sent, and its error, if there is one, is raised by the next statement that waits. A
query whose answer is expected is sent, too, and read when it is asked for.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
import psycopg
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from headway.storage import queries
from headway.storage.engine.question import Row
from headway.storage.postgres.connection import UNUSABLE, PostgresConnection, RawConnection, said
from headway.storage.postgres.statements import PACKAGE, Statement, named, statement

T = TypeVar("T")
Values = Sequence[Any]

_FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)
_TYPES = {int: 20, bool: 16, float: 701}


class _Sent(NamedTuple):
    """A statement that is on its way, and under which key it is prepared, if it is."""

    commands: tuple[Callable[[], None], ...]
    prepares: tuple[bytes, tuple[int, ...]] | None = None
    text: bytes | None = None
    question: "_Question | None" = None


_Question = tuple[bytes, tuple[Any, ...]]
"""A query with its parameters."""


class WireConnection(PostgresConnection):
    """Named queries that share their round trips."""

    def __init__(self, raw: RawConnection) -> None:
        super().__init__(raw)
        # At a rollback psycopg drops what it prepared, and with that all that is prepared here.
        raw.prepare_threshold = None
        self._sent: list[_Sent] = []
        self._expected: dict[_Question, PGresult | None] = {}
        self._names: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._numbers = itertools.count()
        self._transformer = Transformer(raw)

    def all(self, name: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a named query."""
        return self._dictionaries(self._ask(named(name), params))

    def values(self, kind: type[T], name: str, params: Mapping[str, Any]) -> list[T]:
        """All rows of a named query as values whose fields are its columns, in their order."""
        rows = self._load(self._ask(named(name), params), tuple)
        return msgspec.convert(rows, list[kind])  # type: ignore[valid-type]

    def select(self, sql: str, params: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of a query that was put together from filters."""
        return self._dictionaries(self._ask(statement(queries.expanded(PACKAGE, sql)), params))

    def run(self, name: str, params: Mapping[str, Any]) -> int:
        """Run a statement; return how many rows it touched."""
        return self._ask(named(name), params).command_tuples or 0

    def expect(self, name: str, params: Mapping[str, Any]) -> None:
        """Send a query whose answer will be asked for; it shares the next round trip."""
        found = named(name)
        values = found.values(params)
        self._send(found, values, _question(found, values))

    def many(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Send a statement for many rows at once: as one array if it takes `:rows`."""
        found = named(name)
        self.wrote = True
        for values in [found.rows(rows)] if found.takes_rows else map(found.values, rows):
            self._send(found, values)

    def put(self, sql: str, params: Mapping[str, Any]) -> None:
        """Send a statement that is not a named query."""
        found = statement(sql)
        self._send(found, found.values(params))

    def send(self, text: bytes) -> None:
        """Send a statement without parameters."""
        run = partial(self.raw.pgconn.send_query_params, text, None)
        self._sent.append(_Sent((run,), text=text))

    def flush(self) -> PGresult | None:
        """Wait for the results of all that was sent; return the last, or raise the first error."""
        sent, self._sent = self._sent, []
        if not sent:
            return None
        pgconn = self.raw.pgconn
        pgconn.enter_pipeline_mode()
        for one in sent:
            for command in one.commands:
                command()
        pgconn.pipeline_sync()
        answers = self.raw.wait(_exchange(pgconn))
        pgconn.exit_pipeline_mode()
        for answer in answers:
            if answer.status in _FAILED:
                self._unprepare(sent)  # whether these were prepared is not known
                raise self._failed(psycopg.errors.error_from_result(answer))
        self._keep_expected(sent, answers)
        return answers[-2]

    def _failed(self, error: psycopg.Error) -> psycopg.Error:
        if not isinstance(error, UNUSABLE):
            return error
        self.raw.close()
        return type(error)(said(error))

    def _keep_expected(self, sent: Sequence[_Sent], answers: Sequence[PGresult]) -> None:
        last = -1
        for one in sent:
            last += len(one.commands)
            if one.question in self._expected:
                self._expected[one.question] = answers[last]

    def expect_nothing(self) -> None:
        """What was expected and not asked for is of no interest any more."""
        self._expected.clear()

    def forget(self) -> None:
        """What was not waited for yet is not sent at all."""
        self._forget_from(0)

    def forget_from(self, text: bytes) -> bool:
        """Forget this statement and all behind it; False if it is on its way already."""
        for place, one in enumerate(self._sent):
            if one.text == text:
                self._forget_from(place)
                return True
        self.forget()
        return False

    def _forget_from(self, place: int) -> None:
        self.expect_nothing()
        self._unprepare(self._sent[place:])
        del self._sent[place:]

    def _unprepare(self, sent: Sequence[_Sent]) -> None:
        for one in sent:
            if one.prepares is not None:
                self._names.pop(one.prepares, None)

    def _ask(self, found: Statement, params: Mapping[str, Any]) -> PGresult:
        self.wrote = self.wrote or found.writes
        values = found.rows([params]) if found.takes_rows else found.values(params)
        question = _question(found, values)
        if question in self._expected:
            return self._expected_answer(question)
        self._send(found, values)
        answer = self.flush()
        assert answer is not None
        return answer

    def _expected_answer(self, question: _Question) -> PGresult:
        if self._expected[question] is None:
            self.flush()
        answer = self._expected.pop(question)
        assert answer is not None
        return answer

    def _send(
        self, found: Statement, params: Mapping[str, Any], question: _Question | None = None
    ) -> None:
        if question is not None:
            self._expected[question] = None
        given = [params[name] for name in found.names]
        types = tuple(_TYPES.get(type(value), 0) for value in given)
        values = [None if value is None else str(value).encode() for value in given]
        pgconn = self.raw.pgconn
        if found.prepare is False:
            run = partial(pgconn.send_query_params, found.numbered, values, types)
            self._sent.append(_Sent((run,), question=question))
            return
        key = (found.numbered, types)
        if key in self._names:
            run = partial(pgconn.send_query_prepared, self._names[key], values)
            self._sent.append(_Sent((run,), question=question))
            return
        name = self._names[key] = b"headway_%d" % next(self._numbers)
        prepare = partial(pgconn.send_prepare, name, found.numbered, types)
        run = partial(pgconn.send_query_prepared, name, values)
        self._sent.append(_Sent((prepare, run), key, question=question))

    def _dictionaries(self, answer: PGresult) -> list[Row]:
        names = [(answer.fname(place) or b"").decode() for place in range(answer.nfields)]
        return self._load(answer, lambda values: dict(zip(names, values, strict=True)))

    def _load(self, answer: PGresult, make: Callable[[Values], T]) -> list[T]:
        if not answer.ntuples:
            return []
        self._transformer.set_pgresult(answer)
        return self._transformer.load_rows(0, answer.ntuples, make)


def _question(found: Statement, params: Mapping[str, Any]) -> _Question:
    return found.numbered, tuple(params[name] for name in found.names)


def _exchange(pgconn: PGconn) -> "PQGen[list[PGresult]]":
    """Send all that is to be sent and wait for the answer to each; the last one is a sync."""
    yield from generators.send(pgconn)
    answers: list[PGresult] = []
    while not answers or answers[-1].status != ExecStatus.PIPELINE_SYNC:
        answers.append((yield from generators.fetch_many(pgconn))[-1])
    return answers
