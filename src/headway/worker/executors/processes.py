"""Handlers in a fresh Python process each: the only ones that can be stopped from outside."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping

import msgspec

from headway.domain.handlers import Function, Handler
from headway.domain.runs import Outcome
from headway.domain.secrets import without_secrets
from headway.settings import Settings
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls, messages, shortage
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
from headway.worker.programs import relayed

CHILD = "headway.worker.executors.child"
EXIT_GRACE_S = 5.0


class ProcessExecutor(Executor):
    """Runs handlers that were defined with `isolation="process"`."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        nursery: Nursery,
        *,
        result_limit: int = calls.RESULT_LIMIT,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings
        self._handlers = handlers
        self._nursery = nursery
        self._result_limit = result_limit

    def start(self, work: Work, ctx: JobContext, done: Done) -> Running:
        """Start a Python process for the run."""
        talk = _Conversation(ctx)

        def spawn(output: ChildOutput) -> "subprocess.Popen[bytes]":
            return talk.spawn(work, self._request(work), output)

        return ChildRun(self._nursery, work, ctx, done, spawn=spawn, judge=talk.conclude)

    def _request(self, work: Work) -> messages.Request:
        handler = self._handlers.get(work.job_type)
        if handler is None:
            raise NotStarted(calls.no_handler(work.job_type))
        module, file = _place_of(handler.function)
        return messages.Request(
            work=work,
            module=module,
            file=file,
            qualname=handler.function.__qualname__,
            path=sys.path,
            result_limit=self._result_limit,
            settings=self._settings,
        )


class _Conversation:
    """The worker's ends of the two pipes to a child, and the thread that serves them."""

    def __init__(self, ctx: JobContext) -> None:
        self._ctx = ctx
        self._lock = threading.Lock()
        self._to_child = -1
        self._is_asked = False
        self._is_cancelled = False
        self._is_cancel_told = False
        self._outcome: Outcome | None = None
        self._thread: threading.Thread | None = None

    def spawn(
        self, work: Work, request: messages.Request, output: ChildOutput
    ) -> "subprocess.Popen[bytes]":
        """Start the child and begin to talk to it."""
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as the_childs:
            inbox, to_child = os.pipe()
            the_childs.callback(os.close, inbox)
            ours.callback(os.close, to_child)
            from_child, outbox = os.pipe()
            ours.callback(os.close, from_child)
            the_childs.callback(os.close, outbox)
            try:
                process = _start_python(work, inbox, outbox, output)
            except OSError as error:
                if shortage.is_one(error):
                    raise
                raise NotStarted(calls.failed(f"cannot start a process: {error}")) from error
            ours.pop_all()
        self._to_child = to_child
        self._thread = threading.Thread(
            target=self._talk, args=(request, from_child), name="child-talk", daemon=True
        )
        self._thread.start()
        self._ctx.when_cancelled(self._cancel)
        return process

    def conclude(self, returncode: int) -> Outcome:
        """What the child said last, or how it ended without a word."""
        if self._thread is not None:
            # A process that left its group may hold the pipe open: do not wait for ever.
            self._thread.join(EXIT_GRACE_S)
        self._hang_up()
        if self._outcome is not None:
            return self._outcome
        return calls.crashed(
            f"the process {ending_of(returncode)} before the handler returned",
            exit_code_of(returncode),
        )

    def _talk(self, request: messages.Request, from_child: int) -> None:
        with os.fdopen(from_child, "rb") as reports:
            self._ask(request)
            for line in reports:
                try:
                    self._hear(messages.decode_report(line))
                except msgspec.DecodeError:
                    # A child that is killed may leave half a line.
                    continue

    def _ask(self, request: messages.Request) -> None:
        self._send(request)
        self._is_asked = True
        self._tell_cancel()

    def _hear(self, report: messages.Report) -> None:
        match report:
            case messages.Finished(outcome):
                self._outcome = outcome
            case messages.Advanced(fraction, message):
                self._ctx.progress(fraction, message)
            case _:
                relayed.answer(self._ctx.journal, report, self._send)

    def _cancel(self) -> None:
        self._is_cancelled = True
        self._tell_cancel()

    def _tell_cancel(self) -> None:
        """Never waits for a child that reads slowly: who is writing to it tells it afterwards."""
        while (
            self._is_asked
            and self._is_cancelled
            and not self._is_cancel_told
            and self._lock.acquire(blocking=False)
        ):
            self._is_cancel_told = True
            self._write(messages.Cancel())
            self._lock.release()

    def _send(self, message: messages.Request | messages.Order) -> None:
        with self._lock:
            self._write(message)
        self._tell_cancel()

    def _write(self, message: messages.Request | messages.Order) -> None:
        """A child that is gone hears nothing."""
        if self._to_child >= 0:
            with contextlib.suppress(BrokenPipeError):
                messages.write_all(self._to_child, messages.encode(message))

    def _hang_up(self) -> None:
        with self._lock:
            if self._to_child >= 0:
                os.close(self._to_child)
                self._to_child = -1


def _start_python(
    work: Work, inbox: int, outbox: int, output: ChildOutput
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", CHILD, str(inbox), str(outbox)],
        env=without_secrets(os.environ) | run_marks(work),
        stdin=subprocess.DEVNULL,
        stdout=output.stdout,
        stderr=output.stderr,
        pass_fds=(inbox, outbox),
        start_new_session=True,
    )


def _place_of(function: Function) -> tuple[str, str | None]:
    """The module of a function, and the file to load instead when it is a script."""
    if function.__module__ != "__main__":
        return function.__module__, None
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return spec.name, None
    file = getattr(main, "__file__", None)
    if file is None:
        raise NotStarted(calls.failed(f"{function.__qualname__} is in no file a process can load"))
    return "__main__", os.path.abspath(file)
