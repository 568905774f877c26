"""A handler process: `python -m headway.worker.pool.child SOCKET`.

It imports the app, runs handlers in threads and on an event loop, and tells the server how they
end. It lives as long as the server does: when the socket ends, it exits at once.
"""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from headway import collector, log_lines, wiring
from headway.domain.runs import Outcome
from headway.files.log_parts import OutputBound
from headway.live_threads import LiveThreads
from headway.worker import run_logs
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls, process_hooks
from headway.worker.executors.interface import Running
from headway.worker.executors.slot_threads import SlotThreads
from headway.worker.executors.threads import ThreadExecutor
from headway.worker.executors.timers import Timers
from headway.worker.pool import messages
from headway.worker.pool.channel import Channel
from headway.worker.programs.relayed import Answered, RelayedJournal

if TYPE_CHECKING:
    from headway.client.app import App

TOGETHER_S = 0.002
"""How long an outcome waits for others while more runs are in line."""

PROGRESS_EVERY_S = 0.2

log = logging.getLogger("headway.worker")


def main() -> None:
    """Serve until the server says so, or until the socket closes."""
    _leave_signals_to_the_server()
    end = socket.socket(fileno=int(sys.argv[1]))
    end.set_inheritable(False)
    channel = Channel(end)
    batches = channel.lines()
    first = next(batches, None)
    if first is None:
        return
    setup = messages.decode_setup(first[0])
    sys.path[:] = setup.path
    sys.argv = [setup.settings.app or ""]
    log_lines.set_up(setup.settings.log_format)
    try:
        app = wiring.load_app(setup.settings.app)
        assert app is not None
        app.work_for(setup.settings)
    except BaseException as error:
        channel.send(messages.encode(messages.Refused(calls.outcome_of(error).error or "")))
        return
    collector.calm()
    run_logs.capture()
    served = _HandlerProcess(setup, app, channel)
    try:
        served.start_up()
    except BaseException as error:
        channel.send(messages.encode(messages.Refused(calls.outcome_of(error).error or "")))
        return
    channel.send(messages.encode(messages.Ready()))
    served.serve(batches)
    served.shut_down()


def _leave_signals_to_the_server() -> None:
    """Ctrl-C and a service manager reach every process; the server decides what ends when.

    Not by SIG_IGN, which programs that handlers start would inherit.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)


class _HandlerProcess:
    """The runs of this process, and how they are reported."""

    def __init__(self, setup: messages.Setup, app: "App", channel: Channel) -> None:
        self._data = setup.data
        self._app = app
        self._prepares = app.prepares
        self._channel = channel
        self._bound = OutputBound(setup.settings.largest_output, setup.settings.disk_reserve)
        self._timers = Timers()
        self._live = _ToldThreads(self._tell)
        self._executor = ThreadExecutor(
            app.handlers,
            setup.slots + 1,  # one of the threads listens
            timers=self._timers,
            result_limit=setup.result_limit,
            live=self._live,
            app=app,
        )
        self._runs: dict[str, tuple[JobContext, Running]] = {}
        self._flushing = False
        self._told_to_leave = threading.Event()
        self._news = _FreshProgress(self._timers, self._tell)
        self._journal = RelayedJournal(self._tell)

    def start_up(self) -> None:
        """Call the hooks of the app before the first run."""
        process_hooks.start_up(self._app.startups, self._executor.on_loop)

    def shut_down(self) -> None:
        """Call the hooks of the app after the last run."""
        process_hooks.shut_down(self._app.shutdowns, self._executor.on_loop)

    def serve(self, batches: Iterator[list[bytes]]) -> None:
        """Carry out orders until `Leave` comes."""
        self._executor.threads.put(_Listening(batches, self))
        self._told_to_leave.wait()

    def listen(self, batches: Iterator[list[bytes]], again: "_Listening") -> None:
        """Carry out the next order, and read again once it is queued."""
        self._channel.flush()
        lines = next(batches, None)
        if lines is None:
            os._exit(1)  # the server is gone: no handler may go on beside its retry
        for line in lines:
            self._obey(messages.decode_order(line))
        self._executor.threads.put(again)

    def _obey(self, order: messages.Order) -> None:
        match order:
            case messages.Leave():
                self._told_to_leave.set()
            case messages.Start():
                self._start(order)
            case Answered():
                self._journal.hear(order)
            case messages.Cancel(run_id) if run_id in self._runs:
                self._runs[run_id][0].cancel()
            case messages.Stop(run_id) if run_id in self._runs:
                self._runs[run_id][1].stop()
            case messages.Prepare(job_type):
                threading.Thread(target=self._prepare, args=(job_type,), daemon=True).start()

    def _start(self, order: messages.Start) -> None:
        work = order.work(self._data)
        ctx = _TellingContext(work, self._bound, self._journal, self._news, self._executor.threads)

        def done(outcome: Outcome) -> None:
            self._runs.pop(work.run_id, None)
            self._report(messages.Done(work.run_id, outcome, self._live.has(work.run_id)))

        running = self._executor.start(work, ctx, done)
        self._runs[work.run_id] = (ctx, running)
        if not self._live.has(work.run_id):  # it ended before it was noted
            self._runs.pop(work.run_id, None)

    def _report(self, done: messages.Done) -> None:
        """Now, or with those that come in a moment if runs are in line before it listens again."""
        self._channel.add(messages.encode(done))
        if self._executor.threads.waiting <= 1:
            self._channel.flush()
        elif not self._flushing:
            self._flushing = True
            self._timers.after(TOGETHER_S, self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self._channel.flush()

    def _tell(self, news: messages.News) -> None:
        self._channel.send(messages.encode(news))

    def _prepare(self, job_type: str) -> None:
        try:
            self._prepares[job_type]()
        except BaseException as error:
            log.exception("the prepare hook of %s failed", job_type)
            self._tell(messages.Prepared(job_type, f"{type(error).__name__}: {error}"))
        else:
            self._tell(messages.Prepared(job_type, None))


class _Listening:
    """Reading the socket is queued like a run: the thread that reads of a run executes it.

    Waking another thread for it would cost more than a short run. When a run takes longer, the line
    does not move, and another thread serves it.
    """

    def __init__(self, batches: Iterator[list[bytes]], process: _HandlerProcess) -> None:
        self._batches = batches
        self._process = process

    def execute(self) -> bool:
        """Take the next orders."""
        self._process.listen(self._batches, self)
        return True


class _ToldThreads(LiveThreads):
    """Tells the server when the thread of a run that had to stop has ended."""

    def __init__(self, tell: Callable[[messages.News], None]) -> None:
        super().__init__()
        self._tell = tell

    def has(self, run_id: str) -> bool:
        """Whether the run is in a thread."""
        return run_id in self._live

    def _end_late(self, run_id: str) -> None:
        if self._late.pop(run_id, None) is not None:
            self._tell(messages.Left(run_id))


class _FreshProgress:
    """Tells of progress a few times a second, however often a handler does."""

    def __init__(self, timers: Timers, tell: Callable[[messages.News], None]) -> None:
        self._timers = timers
        self._tell = tell
        self._lock = threading.Lock()
        self._fresh: dict[str, JobContext] = {}

    def note(self, ctx: JobContext) -> None:
        """This run has progress that was not told yet."""
        with self._lock:
            if not self._fresh:
                self._timers.after(PROGRESS_EVERY_S, self._tell_all)
            self._fresh[ctx.run_id] = ctx

    def _tell_all(self) -> None:
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for ctx in fresh.values():
            if (newest := ctx.take_progress()) is not None:
                self._tell(messages.Advanced(ctx.run_id, newest.fraction, newest.message))


class _TellingContext(JobContext):
    """A context whose progress and steps are told to the server."""

    __slots__ = ("_news", "_threads")

    def __init__(
        self,
        work: Work,
        bound: OutputBound,
        journal: RelayedJournal,
        news: _FreshProgress,
        threads: SlotThreads,
    ) -> None:
        super().__init__(work, bound, journal)
        self._news = news
        self._threads = threads

    def progress(self, fraction: float, message: str | None = None) -> None:
        super().progress(fraction, message)
        self._news.note(self)

    def _wait(self, answer: "Future[Any]") -> Any:
        """The answer comes by the socket, and its reader may stand in line for this very thread."""
        with self._threads.lent():
            return answer.result()


if __name__ == "__main__":
    main()
