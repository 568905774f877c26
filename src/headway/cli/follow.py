"""Following a job: its output as it comes, its progress, why it waits, how it ends."""

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

from headway import protocol
from headway.cli import lost
from headway.cli.session import Session
from headway.cli.text import words
from headway.cli.text.bar import Bar
from headway.domain import errors, states
from headway.domain.jobs import Job, WaitReason
from headway.protocol.operation import JobRef

FIRST_POLL_S = 0.01
LONGEST_POLL_S = 0.25
POLLS_PER_LOOK = 8
"""So often the job is asked for until its worker is, too."""
LAST_OUTPUT_S = 0.5
STREAMS = ("stdout", "stderr")


class Follower:
    """Shows a job until it ends. In JSON mode all output goes to standard error."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bar = Bar("progress")
        self._lock = threading.Lock()
        self._readers: dict[tuple[str, str], threading.Thread] = {}
        self._shown_reason: WaitReason | None = None

    def follow(self, reference: JobRef) -> Job:
        """Wait for the end; return the job as it ended."""
        for job in self._looks(reference):
            if job.run_id is not None and job.started_at is not None:
                self._read(job.run_id)
        for reader in self._readers.values():
            reader.join()
        self._bar.clear()
        return job

    def until_started(self, reference: JobRef) -> Job:
        """Wait until it runs, or has ended without; return the job as it is then."""
        for job in self._looks(reference):
            if job.started_at is not None:
                break
        return job

    def _looks(self, reference: JobRef) -> Iterator[Job]:
        """The job as it is, again and again until it has ended; says what it waits for."""
        wait_s = FIRST_POLL_S
        for poll in itertools.count():
            job = self._session.send(protocol.jobs.get_job, id=reference)
            yield job
            if job.status in states.TERMINAL:
                return
            self._tell(job)
            if poll % POLLS_PER_LOOK == 0:
                self._refuse_lost(job)
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.5, LONGEST_POLL_S)

    def _refuse_lost(self, job: Job) -> None:
        """What was printed is shown; more will not come."""
        if gone := lost.reason(self._session, job):
            for reader in self._readers.values():
                reader.join(LAST_OUTPUT_S)
            raise errors.Unavailable(f"job {job.number} does not go on: {gone}")

    def _read(self, run_id: str) -> None:
        for stream in STREAMS:
            if (run_id, stream) not in self._readers:
                reader = threading.Thread(target=self._copy, args=(run_id, stream), daemon=True)
                self._readers[run_id, stream] = reader
            if self._readers[run_id, stream].ident is None:  # Ctrl-C may come between the two
                self._readers[run_id, stream].start()

    def _copy(self, run_id: str, stream: str) -> None:
        target = sys.stdout if stream == "stdout" and not self._session.screen.json else sys.stderr
        try:
            for part in self._session.client.log(run_id, stream, follow=True):
                self._write(target.buffer, part)
        except BrokenPipeError:
            return
        except errors.HeadwayError as error:
            self._session.screen.note(f"the output cannot be read: {error.detail}")

    def _write(self, target: BinaryIO, part: bytes) -> None:
        with self._lock:
            self._bar.clear()
            target.write(part)
            target.flush()

    def _tell(self, job: Job) -> None:
        """How far it is, or a line whenever it waits for something else."""
        if job.progress is not None:
            with self._lock:
                self._bar.draw(job.progress.fraction, words.progress(job))
        reason = job.wait_reason
        if reason is not None and reason != self._shown_reason:
            self._shown_reason = reason
            detail = self._session.text(reason.detail)
            self._session.screen.note(f"job {job.number} is waiting: {detail}")


def ending(session: Session, job: Job) -> str:
    """One line about how a job ended, and why."""
    if job.wait_reason is not None:
        return f"job {job.number} {job.status.lower()}: {session.text(job.wait_reason.detail)}"
    error = (
        words.headline(session.send(protocol.runs.get_run, id=job.run_id).error)
        if job.run_id
        else ""
    )
    return f"job {job.number} {job.status.lower()}" + (f": {error}" if error else "")
