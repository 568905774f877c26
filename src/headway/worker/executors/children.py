"""A run that lives in a process group of its own: from its start to the end of its last member."""

import contextlib
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Literal

from headway.domain.runs import Outcome
from headway.files import private_files
from headway.files.log_parts import OutputBound
from headway.worker import leftovers, process_groups
from headway.worker.context import JobContext, Work
from headway.worker.executors import calls, shortage
from headway.worker.executors.child_output import ChildOutput
from headway.worker.executors.interface import Done
from headway.worker.executors.settling import Settlement
from headway.worker.executors.timers import Timer, Timers
from headway.worker.guard import Guard

log = logging.getLogger("headway.worker")

GRACE_S = 10.0
LEFTOVER_GRACE_S = 2.0

Ending = Literal["stop", "timeout"]


class NotStarted(Exception):
    """The process could not be started; `outcome` says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class Nursery:
    """What all children of a worker share."""

    def __init__(
        self,
        guard: Guard,
        timers: Timers | None = None,
        grace: float = GRACE_S,
        bound: OutputBound | None = None,
    ) -> None:
        self.guard = guard
        self.timers = timers or Timers()
        self.grace = grace
        self.bound = bound or OutputBound()


class ChildRun:
    """One child process, its group, and the thread that waits for it."""

    def __init__(
        self,
        nursery: Nursery,
        work: Work,
        ctx: JobContext,
        done: Done,
        *,
        spawn: Callable[[ChildOutput], "subprocess.Popen[bytes]"],
        judge: Callable[[int], Outcome],
    ) -> None:
        self._nursery = nursery
        self._work = work
        self._ctx = ctx
        self._settlement = Settlement(done)
        self._spawn = spawn
        self._judge = judge
        # Signals are only sent under the lock and before the leader is reaped: its number is
        # not given to another process until then.
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._forks_before: int | None = None
        self._deadline = work.deadline
        self._ending: Ending | None = None
        self._is_over = False
        self._timers: list[Timer] = []
        self._told_to_end = threading.Event()
        self._begin()

    def _begin(self) -> None:
        try:
            threading.Thread(
                target=self._live, name=f"run-{self._work.number}", daemon=True
            ).start()
        except RuntimeError:  # so many threads run that the system allows no more
            shortage.notices.say(f"job {self._work.number} waits for a thread")
            self._nursery.timers.after(shortage.LONGEST_WAIT_S, self._begin)

    def stop(self) -> None:
        """SIGTERM to the group now, SIGKILL after the grace period."""
        self._end("stop")

    def renew(self, deadline: float) -> None:
        """Let the guard wait until then before it ends the group of a frozen worker."""
        with self._lock:
            self._deadline = deadline
            if self._pid is not None:
                self._nursery.guard.renew(self._pid, deadline)

    def _live(self) -> None:
        try:
            outcome = self._outcome()
        except NotStarted as refusal:
            outcome = refusal.outcome
        except Exception as error:
            outcome = calls.outcome_of(error)
        self._settlement.settle(outcome)

    def _outcome(self) -> Outcome:
        started = self._start_patiently()
        if started is None:
            return calls.stopped()
        process, output = started
        with contextlib.closing(output):
            try:
                self._adopt(process.pid)
                output.keep_until_exit(process)
            finally:
                returncode = self._reap(process)
                output.keep_rest()
        return self._conclude(returncode)

    def _start_patiently(self) -> "tuple[subprocess.Popen[bytes], ChildOutput] | None":
        """Start the process; while the machine lacks something, the run waits for it."""
        lacks: list[str] = []

        def tell(lack: str) -> None:
            lacks.append(lack)
            self._ctx.remark(f"not started yet: {lack}")

        started = shortage.outlast(
            self._start,
            what=f"job {self._work.number} cannot be started",
            pause=self._told_to_end.wait,
            tell=tell,
        )
        if lacks and started is not None:
            self._ctx.remark(f"started late: {lacks[0]}")
        return started

    def _start(self) -> "tuple[subprocess.Popen[bytes], ChildOutput] | None":
        """Start the process, if nothing has ended the run before; raises what it lacks."""
        if self._ending is not None:
            return None
        self._nursery.guard.start()
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(
                contextlib.closing(ChildOutput(self._work.log_dir, self._nursery.bound))
            )
            self._forks_before = leftovers.forks_so_far()
            with _spare_handle():
                process = self._spawn(output)
            output.let_go()
            stack.pop_all()
        return process, output

    def _adopt(self, pid: int) -> None:
        with self._lock:
            self._pid = pid
            self._nursery.guard.watch(pid, self._deadline)
            self._record(pid)
            if self._ending is not None:
                self._send_end(pid, self._ending)
            elif self._work.timeout_s is not None:
                self._later(self._work.timeout_s, lambda: self._end("timeout"))

    def _record(self, pid: int) -> None:
        """A note for the recovery; without it, the process is found by its environment."""
        try:
            private_files.make_folder(self._work.log_dir)
            process_groups.record(self._work.log_dir, pid)
        except OSError as error:
            log.warning("the process of job %s is not noted: %s", self._work.number, error)

    def _reap(self, process: "subprocess.Popen[bytes]") -> int:
        """Nothing outlives its run: end what the leader left behind, then reap it."""
        with self._lock:
            self._pid = None
            self._is_over = True
            for timer in self._timers:
                timer.cancel()
        # After a time-out the lease is over: a retry must not run beside what is left.
        grace = 0.0 if self._ending == "timeout" else LEFTOVER_GRACE_S
        shortage.outlast(
            lambda: leftovers.end(process.pid, self._work.run_id, grace, self._forks_before),
            what=f"what job {self._work.number} left behind cannot be looked for",
        )
        returncode = process.wait()
        self._nursery.guard.forget(process.pid)
        return returncode

    def _conclude(self, returncode: int) -> Outcome:
        if self._ending == "stop":
            return calls.stopped()
        if self._ending == "timeout" and self._work.timeout_s is not None:
            return calls.timed_out(self._work.timeout_s, exit_code_of(returncode))
        return self._judge(returncode)

    def _end(self, why: Ending) -> None:
        with self._lock:
            if self._ending is None and not self._is_over:
                self._ending = why
                self._told_to_end.set()
                if self._pid is not None:
                    self._send_end(self._pid, why)

    def _send_end(self, pid: int, why: Ending) -> None:
        """A lease ends with the time-out of its job: the next attempt must not run beside it."""
        if why == "timeout":
            process_groups.send(pid, signal.SIGKILL)
        else:
            process_groups.terminate(pid)
            self._later(self._nursery.grace, self._kill)

    def _kill(self) -> None:
        with self._lock:
            if self._pid is not None:
                process_groups.send(self._pid, signal.SIGKILL)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        self._timers.append(self._nursery.timers.after(seconds, action))


def exit_code_of(returncode: int) -> int:
    """The exit code as a shell tells it: 128 and the number for a signal."""
    return 128 - returncode if returncode < 0 else returncode


def ending_of(returncode: int) -> str:
    """How a process ended, in words."""
    if returncode >= 0:
        return f"exited with code {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"


def run_marks(work: Work) -> dict[str, str]:
    """The variables by which a process knows its run, and we know the process."""
    return {
        "HEADWAY_JOB_ID": work.job_id,
        process_groups.RUN_MARK: work.run_id,
        "HEADWAY_ATTEMPT": str(work.attempt),
    }


@contextlib.contextmanager
def _spare_handle() -> Iterator[None]:
    """A file descriptor that is free again as soon as the process runs, to look at it with."""
    spare = os.open(os.devnull, os.O_RDONLY)
    try:
        yield
    finally:
        os.close(spare)
