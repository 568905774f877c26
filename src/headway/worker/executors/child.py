"""The child process of one handler run: `python -m headway.worker.executors.child IN OUT`."""

import importlib
import importlib.machinery
import importlib.util
import io
import logging
import os
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from headway.client import parents
from headway.domain.handlers import Handler
from headway.domain.runs import Outcome
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls, messages, process_hooks
from headway.worker.programs.relayed import Answered, RelayedJournal

if TYPE_CHECKING:
    from headway.client.app import App

SCRIPT = "__headway_main__"


class _ChildContext(JobContext):
    """A context that tells the worker."""

    __slots__ = ("_outbox",)

    def __init__(self, work: Work, outbox: "_Outbox", journal: RelayedJournal) -> None:
        super().__init__(work, None, journal)
        self._outbox = outbox

    def progress(self, fraction: float, message: str | None = None) -> None:
        super().progress(fraction, message)
        if (newest := self.take_progress()) is not None:
            self._outbox.send(messages.Advanced(fraction, newest.message))

    def log(self, text: str) -> None:
        """Through the worker, which keeps the bound of the log files."""
        sys.stdout.write(f"{text}\n")


class _Outbox:
    """The pipe to the worker; whole lines, from any thread."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, report: messages.Report) -> None:
        with self._lock:
            messages.write_all(self._pipe, messages.encode(report))


def main() -> None:
    """Read what to run, run it, and tell what it came to."""
    inbox, pipe = int(sys.argv[1]), int(sys.argv[2])
    for inherited in (inbox, pipe):
        os.set_inheritable(inherited, False)
    lines = os.fdopen(inbox, "rb")
    if not (first := lines.readline()).endswith(b"\n"):
        sys.exit("the worker is gone")
    request = messages.decode_request(first)
    sys.path[:] = request.path
    sys.argv = [request.file or request.module]
    _print_by_lines()
    outbox = _Outbox(pipe)
    journal = RelayedJournal(outbox.send)
    ctx = _ChildContext(request.work, outbox, journal)
    threading.Thread(target=_listen, args=(lines, ctx, journal), daemon=True).start()
    outbox.send(messages.Finished(_run(request, ctx)))


def _run(request: messages.Request, ctx: JobContext) -> Outcome:
    parents.enter(request.work.parent_id)
    try:
        handler, app = _load(request)
        ctx.app = app
        logging.basicConfig(format=run_logs.LOG_FORMAT, level=logging.INFO)
    except BaseException as error:
        return calls.outcome_of(error)
    run = calls.call_async if handler.is_async else calls.call
    if app is None:
        return run(handler, ctx, request.result_limit)
    try:
        process_hooks.start_up(app.startups)
    except BaseException as error:
        return calls.outcome_of(error)
    outcome = run(handler, ctx, request.result_limit)
    process_hooks.shut_down(app.shutdowns)
    return outcome


def _load(request: messages.Request) -> "tuple[Handler, App | None]":
    found: Any = _load_file(request.file) if request.file else _load_module(request.module)
    for name in request.qualname.split("."):
        found = getattr(found, name)
    app: App | None = getattr(found, "app", None)
    if request.settings is not None and app is not None:
        app.work_for(request.settings)
    if app is not None and (known := app.handlers.get(request.work.job_type)) is not None:
        return known, app
    # What stands at the name may be what a decorator made of the function.
    found = getattr(found, "handler", found)
    function = found.function if isinstance(found, Handler) else found
    return Handler.of(function, request.work.job_type), app


def _load_module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _load_file(path: str) -> ModuleType:
    """A script, under another name than `__main__`, so that it does not start again."""
    loader = importlib.machinery.SourceFileLoader(SCRIPT, path)
    spec = importlib.util.spec_from_loader(SCRIPT, loader)
    if spec is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[SCRIPT] = module
    loader.exec_module(module)
    return module


def _listen(lines: BinaryIO, ctx: JobContext, journal: RelayedJournal) -> None:
    for line in lines:
        order = messages.decode_order(line)
        if isinstance(order, Answered):
            journal.hear(order)
        else:
            ctx.cancel()
    ctx.cancel()


def _print_by_lines() -> None:
    """A log file that is followed must not wait until a buffer is full."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


if __name__ == "__main__":
    main()
