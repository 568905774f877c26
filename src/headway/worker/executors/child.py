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
from typing import Any

from headway.client import parents
from headway.domain.handlers import Handler
from headway.domain.runs import Outcome
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls, messages

SCRIPT = "__headway_main__"


class _ChildContext(JobContext):
    """A context that tells the worker."""

    __slots__ = ("_outbox",)

    def __init__(self, work: Work, outbox: "_Outbox") -> None:
        super().__init__(work)
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
    request = messages.decode_request(_read_line(inbox))
    sys.path[:] = request.path
    sys.argv = [request.file or request.module]
    _print_by_lines()
    outbox = _Outbox(pipe)
    ctx = _ChildContext(request.work, outbox)
    threading.Thread(target=_await_cancel, args=(inbox, ctx), daemon=True).start()
    outbox.send(messages.Finished(_run(request, ctx)))


def _run(request: messages.Request, ctx: JobContext) -> Outcome:
    parents.enter(request.work.parent_id)
    try:
        handler = _load(request)
        logging.basicConfig(format=run_logs.LOG_FORMAT)
    except BaseException as error:
        return calls.outcome_of(error)
    if handler.is_async:
        return calls.call_async(handler, ctx, request.result_limit)
    return calls.call(handler, ctx, request.result_limit)


def _load(request: messages.Request) -> Handler:
    found: Any = _load_file(request.file) if request.file else _load_module(request.module)
    for name in request.qualname.split("."):
        found = getattr(found, name)
    if request.settings is not None and (app := getattr(found, "app", None)) is not None:
        app.work_for(request.settings)
    # What stands at the name may be what a decorator made of the function.
    found = getattr(found, "handler", found)
    function = found.function if isinstance(found, Handler) else found
    return Handler.of(function, request.work.job_type)


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


def _read_line(pipe: int) -> bytes:
    chunks: list[bytes] = []
    while not chunks or not chunks[-1].endswith(b"\n"):
        chunk = os.read(pipe, 65536)
        if not chunk:
            sys.exit("the worker is gone")
        chunks.append(chunk)
    return b"".join(chunks)


def _await_cancel(pipe: int, ctx: JobContext) -> None:
    while os.read(pipe, 1):
        pass
    ctx.cancel()


def _print_by_lines() -> None:
    """A log file that is followed must not wait until a buffer is full."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


if __name__ == "__main__":
    main()
