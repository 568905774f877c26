"""What one run is given to do, and what its handler sees of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from headway.domain.leases import LONGEST_MESSAGE
from headway.files import log_files
from headway.files.log_parts import OutputBound
from headway.worker.run_logs import RunLog


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One run to execute; `deadline` (monotonic) is when its lease ends, if that is known."""

    run_id: str
    job_id: str
    number: int
    job_type: str
    params: dict[str, Any]
    attempt: int
    timeout_s: float | None
    data: Path
    deadline: float | None = None

    @property
    def parent_id(self) -> str | None:
        """The job whose children this run submits; a direct request is no job."""
        return self.job_id if self.number else None

    @property
    def log_dir(self) -> Path:
        """The folder of this run's logs, put together only when something is written."""
        return self.data / log_files.folder(self.run_id)


class Progress(msgspec.Struct, frozen=True):
    """How far a run is, in its own words."""

    fraction: float | None
    message: str | None = None


class JobContext:
    """What a handler with a first parameter `ctx` gets."""

    __slots__ = ("_bound", "_cancelled", "_logs", "_progress", "_when_cancelled", "_work")

    def __init__(self, work: Work, bound: OutputBound | None = None) -> None:
        self._work = work
        self._bound = bound
        self._logs: RunLog | None = None
        self._progress: Progress | None = None
        self._cancelled = False
        self._when_cancelled: Callable[[], None] | None = None

    @property
    def job_id(self) -> str:
        """The job's public id."""
        return self._work.job_id

    @property
    def number(self) -> int:
        """The job's short number."""
        return self._work.number

    @property
    def run_id(self) -> str:
        """The id of this execution."""
        return self._work.run_id

    @property
    def attempt(self) -> int:
        """How often the job was tried before, from 0."""
        return self._work.attempt

    @property
    def params(self) -> dict[str, Any]:
        """The params as they were submitted."""
        return self._work.params

    @property
    def cancelled(self) -> bool:
        """Whether this run was asked to stop, or its time is up."""
        return self._cancelled

    @property
    def logs(self) -> RunLog:
        """The run's own log files, which are opened when something is written."""
        if self._logs is None:
            work = (
                self._work
            )  # not `self`: a reference cycle for every run is work for the collector
            self._logs = RunLog(lambda: work.log_dir, self._bound or OutputBound())
        return self._logs

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Tell how far the run is, from 0 to 1; the newest word is kept, cut if it is long.

        What no heartbeat can carry, half a character, becomes a question mark.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress is a number from 0 to 1, not {fraction}")
        if message:
            message = message[:LONGEST_MESSAGE].encode(errors="replace").decode()
        self._progress = Progress(float(fraction), message)

    def remark(self, message: str) -> None:
        """Say something about the run that is not how far it is."""
        self._progress = Progress(None, message)

    def log(self, text: str) -> None:
        """Write a line to the run's stdout log."""
        self.logs.write("stdout", f"{text}\n")

    def take_progress(self) -> Progress | None:
        """The newest progress that was not taken before."""
        newest, self._progress = self._progress, None
        return newest

    def put_back(self, progress: Progress | None) -> None:
        """Progress that was taken and did not arrive; a newer word replaces it."""
        if self._progress is None:
            self._progress = progress

    def cancel(self) -> None:
        """Ask the run to stop by itself."""
        self._cancelled = True
        if self._when_cancelled is not None:
            self._when_cancelled()

    def when_cancelled(self, tell: Callable[[], None]) -> None:
        """Have `tell` called on cancel; it may be called twice when both happen at once."""
        self._when_cancelled = tell
        if self._cancelled:
            tell()
