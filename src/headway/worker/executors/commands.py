"""Commands: any program, with its output straight in the run's log files."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from headway.domain.errors import HeadwayError, InvalidParams
from headway.domain.handlers import CommandParams
from headway.domain.runs import Outcome, RunStatus
from headway.domain.secrets import without_secrets
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls, shortage
from headway.worker.executors.child_output import ChildOutput
from headway.worker.executors.children import (
    ChildRun,
    NotStarted,
    Nursery,
    ending_of,
    exit_code_of,
    run_marks,
)
from headway.worker.executors.interface import Done, Executor, Running

NOT_FOUND = 127
NOT_EXECUTABLE = 126

Resolve = Callable[[str], Path]


class CommandExecutor(Executor):
    """Runs `command` jobs; `resolve` turns a `cwd` into a folder inside the workspace."""

    def __init__(self, nursery: Nursery, resolve: Resolve) -> None:
        self._nursery = nursery
        self._resolve = resolve

    def start(self, work: Work, ctx: JobContext, done: Done) -> Running:
        """Start the command in a process group of its own."""
        return ChildRun(
            self._nursery,
            work,
            ctx,
            done,
            spawn=lambda output: _spawn(work, self._resolve, output),
            judge=_judge,
        )


def _judge(returncode: int) -> Outcome:
    if returncode == 0:
        return Outcome(status=RunStatus.COMPLETED, exit_code=0)
    return calls.failed(ending_of(returncode), exit_code_of(returncode))


def _spawn(work: Work, resolve: Resolve, output: ChildOutput) -> "subprocess.Popen[bytes]":
    try:
        params = CommandParams.check(work.params)
    except InvalidParams as error:
        raise NotStarted(calls.failed(str(error), 1)) from error
    if not params.argv:
        raise NotStarted(calls.failed("missing child args", 1))
    folder = _folder(params.cwd or ".", resolve)
    with _input(params.stdin) as stdin:
        try:
            return subprocess.Popen(
                params.argv,
                cwd=folder,
                env=_environment(work, {**(params.env or {}), **(params.secret_env or {})}),
                stdin=stdin,
                stdout=output.stdout,
                stderr=output.stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if shortage.is_one(error):
                raise
            raise NotStarted(_refusal(params.argv[0], error)) from error


def _folder(cwd: str, resolve: Resolve) -> Path:
    try:
        folder = resolve(cwd)
    except HeadwayError as error:
        raise NotStarted(calls.failed(str(error), 1)) from error
    if not folder.is_dir():
        raise NotStarted(calls.failed(f"there is no folder {cwd!r} in the workspace", 1))
    return folder


def _environment(work: Work, added: dict[str, str]) -> dict[str, str]:
    return without_secrets(os.environ) | added | run_marks(work)


@contextlib.contextmanager
def _input(text: str | None) -> Iterator[IO[bytes] | int]:
    """A file, not a pipe: a child that reads slowly or not at all blocks no writer."""
    if text is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.seek(0)
        yield file


def _refusal(program: str, error: Exception) -> Outcome:
    if isinstance(error, FileNotFoundError):
        return calls.failed(f"program not found: {program}", NOT_FOUND)
    return calls.failed(f"cannot start {program}: {error}", NOT_EXECUTABLE)
