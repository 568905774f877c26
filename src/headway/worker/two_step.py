"""The two-step way to start a job: set up what it needs, then ask for the lease."""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.leases import Lease
from headway.protocol.work_values import Denied, Started
from headway.worker.backoff import Backoff
from headway.worker.transport import Transport

Prepare = Callable[[], Any]

log = logging.getLogger("headway.worker")


class TwoStep:
    """For as long as some job type is not prepared, jobs are claimed without a lease."""

    def __init__(
        self,
        transport: Transport,
        prepares: Mapping[str, Prepare],
        stopping: threading.Event,
        chance: random.Random,
    ) -> None:
        self._transport = transport
        self._unprepared = dict(prepares)
        self._preparing = threading.Lock()
        self._stopping = stopping
        self._chance = chance
        self.claimed: set[str] = set()
        """Jobs that were claimed and have no lease yet."""

    @property
    def is_over(self) -> bool:
        """Whether everything is prepared: claim and lease can be one step."""
        return not self._unprepared

    def begin(
        self, job: Started, run: Callable[[Started, float], None], give_up: Callable[[], None]
    ) -> None:
        """Prepare, ask for the lease and run, in a thread of its own."""
        self.claimed.add(job.job_id)
        threading.Thread(target=self._go, args=(job, run, give_up), daemon=True).start()

    def _go(
        self, job: Started, run: Callable[[Started, float], None], give_up: Callable[[], None]
    ) -> None:
        try:
            self._prepare(job)
            granted = self._ask_for_lease(job)
        except Exception as error:
            log.warning("job %s was claimed and could not be started: %s", job.number, error)
            granted = None
        if granted is None:
            give_up()
        else:
            lease, asked = granted
            run(msgspec.structs.replace(job, lease=lease), asked)
        self.claimed.discard(job.job_id)

    def _prepare(self, job: Started) -> None:
        with self._preparing:
            hook = self._unprepared.get(job.job_type)
            if hook is not None:
                self._transport.prepare(job.job_id)
                hook()
                del self._unprepared[job.job_type]

    def _ask_for_lease(self, job: Started) -> tuple[Lease, float] | None:
        """A lease and when it was asked for; None when this worker stops first."""
        backoff = Backoff(self._chance)
        while True:
            asked = time.monotonic()
            try:
                answer = self._transport.request_lease(job.job_id)
            except errors.Unavailable as error:
                log.warning("job %s waits for the scheduler: %s", job.number, error)
                pause_s = backoff.next_s()
            else:
                if not isinstance(answer, Denied):
                    return answer.lease, asked
                pause_s = answer.retry_after_ms / 1000
            if self._stopping.wait(pause_s):
                return None
