"""What the server and its handler processes tell each other: one JSON value a line."""

from pathlib import Path
from typing import Any

import msgspec

from headway.domain.runs import Outcome
from headway.domain.steps import Step
from headway.settings import Settings
from headway.worker.context import Work
from headway.worker.executors.messages import to_path
from headway.worker.programs.relayed import Answered, Question


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: everything that a handler process has to know."""

    settings: Settings
    """Sent and not inherited: they may hold a password, and programs inherit what a process has."""
    path: list[str]
    data: Path
    slots: int
    result_limit: int


class Start(msgspec.Struct, frozen=True, tag="start", array_like=True):
    """Start a run."""

    run_id: str
    job_id: str
    number: int
    job_type: str
    params: dict[str, Any]
    attempt: int
    timeout_s: float | None
    steps: tuple[Step, ...] | None

    @classmethod
    def of(cls, work: Work) -> "Start":
        """The run as it is sent."""
        return cls(
            work.run_id,
            work.job_id,
            work.number,
            work.job_type,
            work.params,
            work.attempt,
            work.timeout_s,
            work.steps,
        )

    def work(self, data: Path) -> Work:
        """The run as it was sent."""
        return Work(
            run_id=self.run_id,
            job_id=self.job_id,
            number=self.number,
            job_type=self.job_type,
            params=self.params,
            attempt=self.attempt,
            timeout_s=self.timeout_s,
            data=data,
            steps=self.steps,
        )


class Cancel(msgspec.Struct, frozen=True, tag="cancel", array_like=True):
    """Ask a run to end by itself."""

    run_id: str


class Stop(msgspec.Struct, frozen=True, tag="stop", array_like=True):
    """End a run by force, as far as that is possible."""

    run_id: str


class Prepare(msgspec.Struct, frozen=True, tag="prepare", array_like=True):
    """Call the `prepare` hook of a job type."""

    job_type: str


class Leave(msgspec.Struct, frozen=True, tag="leave", array_like=True):
    """Exit: nothing runs any more."""


class Ready(msgspec.Struct, frozen=True, tag="ready", array_like=True):
    """The app is imported; runs may come."""


class Refused(msgspec.Struct, frozen=True, tag="refused", array_like=True):
    """The app could not be imported."""

    reason: str


class Prepared(msgspec.Struct, frozen=True, tag="prepared", array_like=True):
    """The `prepare` hook of a job type has returned, or raised."""

    job_type: str
    error: str | None


class Advanced(msgspec.Struct, frozen=True, tag="advanced", array_like=True):
    """How far a run is."""

    run_id: str
    fraction: float | None
    message: str | None


class Done(msgspec.Struct, frozen=True, tag="done", array_like=True):
    """What a run came to; `lingers` when its thread still has not ended."""

    run_id: str
    outcome: Outcome
    lingers: bool


class Left(msgspec.Struct, frozen=True, tag="left", array_like=True):
    """The thread of a run that had to stop has ended."""

    run_id: str


Order = Start | Cancel | Stop | Prepare | Leave | Answered
"""What the server says."""

News = Ready | Refused | Prepared | Advanced | Done | Left | Question
"""What a handler process says."""

_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_news: msgspec.json.Decoder[News] = msgspec.json.Decoder(News)
_encoder = msgspec.json.Encoder(enc_hook=str)


def encode(message: Setup | Order | News) -> bytes:
    """A message as a line; JSON has no bare newlines, so one ends it."""
    return _encoder.encode(message) + b"\n"


def decode_setup(line: bytes) -> Setup:
    """Read the first line of the server."""
    return msgspec.json.decode(line, type=Setup, dec_hook=to_path)


def decode_order(line: bytes) -> Order:
    """Read a line of the server."""
    return _orders.decode(line)


def decode_news(line: bytes) -> News:
    """Read a line of a handler process; raises msgspec.DecodeError for half of one."""
    return _news.decode(line)
