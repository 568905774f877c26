"""What a worker and the child process of a handler tell each other: one JSON value a line.

The worker sends one Request, then the answers to what the handler asks of its journal, and Cancel.
When its pipe ends, the run is cancelled too. The child sends any number of questions and of
Advanced, and at most one Finished.
"""

import os
from pathlib import Path
from typing import Any

import msgspec

from headway.domain.runs import Outcome
from headway.settings import Settings
from headway.worker.context import Work
from headway.worker.programs.relayed import Answered, Question


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and where the handler is found: by module, or by file for a script."""

    work: Work
    module: str
    file: str | None
    qualname: str
    path: list[str]
    result_limit: int
    settings: Settings | None = None
    """How the handler's app reaches the scheduler; not by the environment, which others inherit."""


class Advanced(msgspec.Struct, frozen=True, tag="advanced", array_like=True):
    """How far the run is."""

    fraction: float
    message: str | None


class Finished(msgspec.Struct, frozen=True, tag="finished", array_like=True):
    """What the run came to."""

    outcome: Outcome


class Cancel(msgspec.Struct, frozen=True, tag="cancel", array_like=True):
    """Ask the run to end by itself."""


Report = Advanced | Finished | Question
"""What the child says."""

Order = Cancel | Answered
"""What the worker says after its request."""

_reports: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)
_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)


def encode(message: Request | Report | Order) -> bytes:
    """A message as it goes over the pipe; JSON has no bare newlines, so one ends it."""
    return msgspec.json.encode(message, enc_hook=str) + b"\n"


def decode_request(line: bytes) -> Request:
    """Read the worker's line."""
    return msgspec.json.decode(line, type=Request, dec_hook=to_path)


def decode_report(line: bytes) -> Report:
    """Read one of the child's lines; raises msgspec.DecodeError for half of one."""
    return _reports.decode(line)


def decode_order(line: bytes) -> Order:
    """Read one of the worker's later lines."""
    return _orders.decode(line)


def write_all(pipe: int, data: bytes) -> None:
    """Write everything, however little the pipe takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def to_path(kind: type, value: Any) -> Path:
    """The hook of msgspec for paths, which JSON has as texts."""
    if kind is not Path:
        raise NotImplementedError(kind)
    return Path(value)
