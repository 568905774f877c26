"""The executor of the server: handlers run in child processes, which are replaced when they die.

A process that is killed, crashes or exits takes its runs along, and nothing else. The guard ends
the processes when the server dies or freezes. A thread that goes on although its run had to stop
cannot be ended alone: its process gets no more runs, another one takes its place, and it is ended
when its other runs have ended.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator

from headway.domain import errors
from headway.live_threads import LiveThreads
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls
from headway.worker.executors.interface import Done, Executor, Running
from headway.worker.executors.timers import Timers
from headway.worker.guard import Guard
from headway.worker.lease_keeper import LONGEST_MARGIN_S
from headway.worker.pool import messages
from headway.worker.pool.process import End, HandlerProcess
from headway.worker.pool.runs import GRACE_S, PooledRun
from headway.worker.programs import relayed

log = logging.getLogger("headway.worker")


class HandlerPool(Executor):
    """Runs go to the process that has the fewest."""

    def __init__(
        self,
        setup: messages.Setup,
        processes: int,
        *,
        grace_s: float = GRACE_S,
    ) -> None:
        self.setup = setup
        self.live = LiveThreads()
        self.guard = Guard()
        self.timers = Timers()
        self._grace_s = grace_s
        self._outlives_server_s = _outlives_server_s(setup.settings.lease_ttl_s)
        self._lock = threading.Lock()
        self._processes = [HandlerProcess(self) for _ in range(processes)]
        self._waiting: deque[PooledRun] = deque()
        self._prepared: list[str] = []
        self._is_watched = False
        self._is_closing = False

    def open(self) -> None:
        """Begin to start the processes."""
        for process in self._processes:
            process.start()

    def wait_until_ready(self) -> None:
        """Wait for the processes; raise if the first ones do not start."""
        for process in tuple(self._processes):
            try:
                process.first_start.result()
            except RuntimeError as error:
                raise errors.Unavailable(
                    f"the process that runs the handlers did not start: {error}"
                ) from None

    def start(self, work: Work, ctx: JobContext, done: Done) -> Running:
        """Have a process start the run; without one that is ready, it waits."""
        run = PooledRun(work, ctx, done, self._must_stop)
        self.live.begin(work.run_id, work.number)
        with self._lock:
            process = self._freest()
            if process is None:
                self._waiting.append(run)
            else:
                process.runs[work.run_id] = run
        if process is not None:
            run.begin(process)
        if not self._is_watched:
            self._begin_to_watch()
        return run

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Hand over the runs of this block in one piece for each process."""
        with contextlib.ExitStack() as stack:
            for process in tuple(self._processes):
                if (channel := process.channel) is not None:
                    stack.enter_context(channel.together())
            yield

    def prepare(self, job_type: str) -> None:
        """Call a `prepare` hook in every process, and in each that is started later."""
        with self._lock:
            self._prepared.append(job_type)
            asked = [one.prepare(job_type) for one in self._processes if one.is_ready]
        try:
            for answer in asked:
                answer.result()
        except RuntimeError:
            self._prepared.remove(job_type)
            raise

    def close(self) -> None:
        """End the processes; those that are idle exit by themselves."""
        with self._lock:
            self._is_closing = True
            processes = tuple(self._processes)
        for process in processes:
            process.close()
        for process in processes:
            process.join()

    def prepared_types(self) -> list[str]:
        """Job types that a new process has to be prepared for before it gets runs."""
        return list(self._prepared)

    def began(self, process: HandlerProcess, pid: int) -> None:
        """There is a new process."""
        self.guard.watch(pid, self._deadline() if self._is_watched else None, grace=0.0)

    def became_ready(self, process: HandlerProcess) -> None:
        """Runs may go to this process."""
        with self._lock:
            process.is_ready = True
            waiting, self._waiting = self._waiting, deque()
            process.runs.update((run.work.run_id, run) for run in waiting)
        for run in waiting:
            run.begin(process)

    def hear(self, process: HandlerProcess, news: messages.News) -> None:
        """A run went on or ended."""
        match news:
            case messages.Advanced(run_id, fraction, message):
                if (run := process.runs.get(run_id)) is not None:
                    run.advance(fraction, message)
            case messages.Done(run_id, outcome, lingers):
                with self._lock:
                    run = process.runs.pop(run_id, None)
                if lingers:
                    self._must_leave(process, run_id)
                else:
                    self._left(process, run_id)
                if run is not None:
                    run.settle(outcome)
            case messages.Left(run_id):
                self._left(process, run_id)
            case relayed.RecordStep() | relayed.TakeSignal() | relayed.ReadJournal():
                self._answer(process, news)

    def _answer(self, process: HandlerProcess, question: relayed.Question) -> None:
        """The handler of a run asks for its journal; the answer is for this process alone."""
        run, channel = process.runs.get(relayed.run_of(question)), process.channel
        if channel is not None:
            relayed.answer(
                run.ctx.journal if run is not None else None,
                question,
                lambda answered: channel.send(messages.encode(answered)),
            )

    def died(self, process: HandlerProcess, end: End) -> None:
        """Its runs have failed; their threads are gone with it."""
        if end.pid is not None:
            self.guard.forget(end.pid)
        with self._lock:
            runs, process.runs = process.runs, {}
            lingering, process.must_end = process.must_end, set()
            if process.is_condemned:
                self._processes.remove(process)
        for run_id in lingering | runs.keys():
            self.live.end(run_id)
        if not self._is_closing:  # what still ran when the server stopped is for its next start
            for run in runs.values():
                run.crash(end.how, end.exit_code)

    def _freest(self) -> HandlerProcess | None:
        ready = [one for one in self._processes if one.is_ready and not one.is_condemned]
        return min(ready, key=lambda one: len(one.runs), default=None)

    def _must_stop(self, run: PooledRun) -> None:
        """A run was told to stop by force."""
        with self._lock:
            is_waiting = run in self._waiting
            if is_waiting:
                self._waiting.remove(run)
        if is_waiting:
            self.live.end(run.work.run_id)
            run.settle(calls.stopped())
        elif run.process is not None:
            self._must_leave(run.process, run.work.run_id)

    def _must_leave(self, process: HandlerProcess, run_id: str) -> None:
        """The thread of this run has to end soon."""
        self.live.outlive([run_id])
        process.must_end.add(run_id)
        self.timers.after(self._grace_s, lambda: self._condemn(process, run_id))

    def _left(self, process: HandlerProcess, run_id: str) -> None:
        process.must_end.discard(run_id)
        self.live.end(run_id)
        self._end_if_condemned(process)

    def _condemn(self, process: HandlerProcess, run_id: str) -> None:
        """A thread that had to end goes on: the process gets no more runs, another is started."""
        with self._lock:
            if run_id not in process.must_end or self._is_closing:
                return
            replacement = None if process.is_condemned else HandlerProcess(self)
            process.condemn()
            if replacement is not None:
                self._processes.append(replacement)
        if replacement is not None:
            log.warning(
                "a handler goes on %g s after it had to stop: its process gets no more jobs and is"
                " ended when the other runs in it have ended",
                self._grace_s,
            )
            replacement.start()
        self._end_if_condemned(process)

    def _end_if_condemned(self, process: HandlerProcess) -> None:
        """End a condemned process as soon as only threads that had to end are left in it."""
        if process.is_condemned and process.runs.keys() <= process.must_end:
            process.kill()

    def _begin_to_watch(self) -> None:
        with self._lock:
            if self._is_watched:
                return
            self._is_watched = True
        self._watch()

    def _watch(self) -> None:
        """Let the processes live for as long as the server does, while they have runs."""
        with self._lock:
            processes = tuple(self._processes)
            is_busy = bool(self._waiting) or any(one.runs or one.must_end for one in processes)
            self._is_watched = is_busy
        for process in processes:
            if (pid := process.pid) is not None:
                self.guard.renew(pid, self._deadline() if is_busy else None)
        if is_busy:
            self.timers.after(self._outlives_server_s / 3, self._watch)

    def _deadline(self) -> float:
        return time.monotonic() + self._outlives_server_s


def _outlives_server_s(lease_ttl_s: float) -> float:
    """How long a process may go on without its server: less than what is left of any lease.

    Leases are renewed when a third of them has passed, and the guard kills at once.
    """
    return lease_ttl_s * 2 / 3 - min(LONGEST_MARGIN_S, lease_ttl_s / 6)
