"""The journal across the border of a process: a handler's process asks, the worker's answers.

The questions and the answer are messages of both kinds of handler processes.
"""

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from headway.clock import SystemClock
from headway.domain import errors
from headway.domain.steps import Step
from headway.protocol.work_values import StepAnswer, StepReport
from headway.worker.programs.journal import Journal, promise

if TYPE_CHECKING:
    from concurrent.futures import Future

Told = TypeVar("Told")


class RecordStep(msgspec.Struct, frozen=True, tag="record", array_like=True):
    """Record a step."""

    number: int
    report: StepReport


class TakeSignal(msgspec.Struct, frozen=True, tag="take", array_like=True):
    """Take a signal that has come."""

    number: int
    run_id: str
    name: str
    index: int


class ReadJournal(msgspec.Struct, frozen=True, tag="read", array_like=True):
    """Read a journal that was too large to come with its job."""

    number: int
    run_id: str


Question = RecordStep | TakeSignal | ReadJournal
"""What the process of a handler asks."""


class Answered(msgspec.Struct, frozen=True, tag="answered", array_like=True):
    """The answer to the question of this number: entries of the journal, or why there are none."""

    number: int
    steps: tuple[Step, ...] = ()
    created: bool = True
    code: str | None = None
    detail: str = ""

    @classmethod
    def refused(cls, number: int, error: Exception) -> "Answered":
        """What the worker was answered itself; what is no error of ours is unexpected."""
        code = error.code if isinstance(error, errors.HeadwayError) else errors.HeadwayError.code
        return cls(number, code=code, detail=str(error))

    def error(self) -> errors.HeadwayError | None:
        """Why it was refused, if it was."""
        return None if self.code is None else errors.revive(self.code, self.detail, 409)


class RelayedJournal:
    """The journal as a handler's process sees it."""

    def __init__(self, send: Callable[[Question], None]) -> None:
        self._send = send
        self._numbers = itertools.count()
        self._asked: dict[int, Callable[[Answered], None]] = {}

    def now(self) -> datetime:
        """The time of this machine."""
        return SystemClock().now()

    def record(self, report: StepReport) -> "Future[StepAnswer]":
        """Record a step."""
        future: Future[StepAnswer] = promise()
        number = next(self._numbers)
        self._asked[number] = lambda told: future.set_result(
            StepAnswer(lease_id=report.lease_id, created=told.created, error=told.error())
        )
        self._send(RecordStep(number, report))
        return future

    def read(self, lease_id: str) -> "Future[Sequence[Step]]":
        """A journal that was too large to come with its job."""
        future: Future[Sequence[Step]] = promise()
        number = next(self._numbers)
        self._asked[number] = lambda told: _settle(future, told, told.steps)
        self._send(ReadJournal(number, lease_id))
        return future

    def take_signal(self, lease_id: str, name: str, index: int) -> "Future[Step | None]":
        """Take a signal that has come, if there is one."""
        future: Future[Step | None] = promise()
        number = next(self._numbers)
        self._asked[number] = lambda told: _settle(future, told, next(iter(told.steps), None))
        self._send(TakeSignal(number, lease_id, name, index))
        return future

    def hear(self, answered: Answered) -> None:
        """The worker has answered a question."""
        self._asked.pop(answered.number)(answered)


def answer(journal: Journal | None, question: Question, reply: Callable[[Answered], None]) -> None:
    """Have the worker's journal answer; without one, the run that asks is over."""
    number, run_id = question.number, run_of(question)
    if journal is None:
        reply(Answered.refused(number, errors.LeaseEnded(run_id, "over")))
        return

    def relay(asked: "Future[Told]", shown: Callable[[Told], Answered]) -> None:
        asked.add_done_callback(lambda done: reply(_shown(number, done, shown)))

    match question:
        case RecordStep(_, report):
            relay(journal.record(report), lambda told: _of_step(number, told))
        case TakeSignal(_, _, name, index):
            relay(
                journal.take_signal(run_id, name, index),
                lambda step: Answered(number, (step,) if step else ()),
            )
        case ReadJournal():
            relay(journal.read(run_id), lambda steps: Answered(number, tuple(steps)))


def run_of(question: Question) -> str:
    """The run that asks."""
    return question.report.lease_id if isinstance(question, RecordStep) else question.run_id


def _shown(number: int, done: "Future[Told]", shown: Callable[[Told], Answered]) -> Answered:
    try:
        return shown(done.result())
    except Exception as error:
        return Answered.refused(number, error)


def _of_step(number: int, told: StepAnswer) -> Answered:
    if told.error is not None:
        return Answered.refused(number, told.error)
    return Answered(number, created=told.created)


def _settle(future: "Future[Told]", told: Answered, value: Told) -> None:
    if (error := told.error()) is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
