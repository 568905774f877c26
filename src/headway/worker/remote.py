"""A worker's way to a server on another machine: the worker protocol over HTTP."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from headway.client.over_http import problem, server_url, unreachable
from headway.domain import errors
from headway.domain.steps import Step
from headway.protocol import work
from headway.protocol.operation import Nothing, Operation
from headway.protocol.work_shapes import (
    BriefClaimed,
    ClaimBody,
    HeartbeatItem,
    Heartbeats,
    ItemAnswer,
    LeaseBody,
    LogItem,
    LogPieces,
    ReleaseItem,
    Releases,
    StepItems,
    SuspendBody,
    WorkerBody,
)
from headway.protocol.work_values import (
    BeatAnswer,
    Denied,
    Granted,
    Report,
    ReportAnswer,
    StepAnswer,
    StepReport,
)
from headway.worker.transport import Registration, Taken

POLL_S = 20.0
"""How long a claim waits at the server."""

ANSWER_WITHIN_S = 10.0

log = logging.getLogger("headway.worker")

Body = TypeVar("Body")
Answer = TypeVar("Answer")


class RemoteTransport:
    """Every call is one request; one that cannot be answered raises `Unavailable`."""

    takes_reports = True
    claims_wait = True

    def __init__(
        self, url: str, token: str | None, registration: Registration, ca_file: str | None = None
    ) -> None:
        self._url = server_url(url)
        self._me = registration
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",  # packing takes the server longer than sending
        }
        if token:
            headers["authorization"] = f"Bearer {token}"
        verify: Any = str(Path(ca_file)) if ca_file else True
        self._client = httpx.Client(
            base_url=self._url,
            headers=headers,
            verify=verify,
            timeout=ANSWER_WITHIN_S,
            trust_env=False,
        )
        self._closing = threading.Event()

    def register(self) -> None:
        """A claim registers the worker: nothing more to say."""

    def claim(
        self,
        count: int,
        *,
        lease: bool,
        reports: Sequence[Report],
        holds: Collection[str] | None = None,
    ) -> Taken:
        """Jobs to do; the server keeps the request until there are some."""
        body = ClaimBody(
            worker_id=self._me.worker_id,
            queues=self._me.abilities.queues,
            job_types=self._me.abilities.job_types,
            capabilities=self._me.abilities.capabilities,
            max_jobs=count,
            wait_s=0.0 if reports or self._closing.is_set() else POLL_S,
            releases=tuple(ReleaseItem.of(one) for one in reports),
            lease=lease,
            brief=True,
            holds=None if holds is None else tuple(holds),
            slots=self._me.slots,
            host=self._me.host,
            pid=self._me.pid,
            process_started=self._me.process_started,
        )
        asked = time.monotonic()
        answer = self._ask(work.claim, body, {}, timeout=POLL_S + ANSWER_WITHIN_S)
        if answer.status_code == 204:
            return Taken(jobs=[], since=asked)
        got = msgspec.json.decode(answer.content, type=BriefClaimed)
        # What the claim waited at the server is no part of the leases' time.
        return Taken(
            jobs=[one.started() for one in got.jobs],
            since=asked + got.waited_ms / 1000,
            reported=[item.report_answer() for item in got.released],
            drain=got.drain,
        )

    def wait(self) -> None:
        """The claim itself waits."""

    def poke(self) -> None:
        """A claim on its way cannot be called back."""

    def wake(self) -> None:
        """The next claim does not wait, and one that waits is answered."""
        self._closing.set()
        self._leave()

    def prepare(self, job_id: str) -> None:
        """The runtime for a claimed job is being set up."""
        self._send(work.preparing, WorkerBody(worker_id=self._me.worker_id), id=job_id)

    def request_lease(self, job_id: str) -> Granted | Denied:
        """Ask to start a claimed job."""
        body = LeaseBody(job_id=job_id, worker_id=self._me.worker_id)
        answer = self._send(work.request_lease, body)
        if answer.approved and answer.lease is not None:
            return Granted(lease=answer.lease)
        return Denied(retry_after_ms=answer.retry_after_ms or 1000, reason=answer.reason or "")

    def heartbeat(self, beats: Sequence[HeartbeatItem]) -> list[BeatAnswer]:
        """Keep leases alive."""
        body = Heartbeats(worker_id=self._me.worker_id, items=list(beats))
        return [item.beat_answer() for item in self._send(work.heartbeats, body).items]

    def release(self, reports: Sequence[Report]) -> list[ReportAnswer]:
        """Report how runs ended."""
        items = [ReleaseItem.of(one) for one in reports]
        body = Releases(worker_id=self._me.worker_id, items=items)
        return [item.report_answer() for item in self._send(work.releases, body).items]

    def journal(self, lease_id: str) -> Sequence[Step]:
        """The journal of the job of a lease."""
        return self._send(work.list_steps_of_lease, None, id=lease_id).items

    def record_steps(self, done: Sequence[StepReport]) -> list[StepAnswer]:
        """Record steps in the journals of their jobs."""
        body = StepItems(worker_id=self._me.worker_id, items=list(done))
        return [item.step_answer() for item in self._send(work.add_steps, body).items]

    def take_signal(self, lease_id: str, name: str, index: int) -> Step | None:
        """Take a signal that has come, if there is one."""
        body = SuspendBody(worker_id=self._me.worker_id, signal=name, index=index, ask=True)
        return self._send(work.suspend, body, id=lease_id).step

    def send_logs(self, pieces: list[LogItem]) -> list[ItemAnswer]:
        """Send pieces of what runs print."""
        body = LogPieces(worker_id=self._me.worker_id, items=pieces)
        return self._send(work.send_logs, body).items

    def on_cancel(self, tell: Callable[[], None]) -> None:
        """Heartbeats bring the news."""

    def close(self) -> None:
        """Sign off, and close connections."""
        self._leave()
        self._client.close()

    def _leave(self) -> None:
        try:
            self._client.delete(work.leave.target({"id": self._me.worker_id}))
        except httpx.TransportError as error:
            log.info("could not sign off: %s", error)

    def _send(
        self, operation: Operation[Body, Nothing, Answer], body: Body | None, **path: str
    ) -> Answer:
        answer = self._ask(operation, body, path)
        return msgspec.json.decode(answer.content, type=operation.answer)

    def _ask(
        self,
        operation: Operation[Body, Nothing, Any],
        body: Body | None,
        path: Mapping[str, str],
        timeout: float = ANSWER_WITHIN_S,
    ) -> httpx.Response:
        try:
            answer = self._client.request(
                operation.method,
                operation.target(path),
                content=None if body is None else msgspec.json.encode(body),
                timeout=timeout,
            )
        except httpx.TransportError as error:
            raise unreachable(self._url, error) from error
        if answer.status_code >= 500:
            raise errors.Unavailable(str(problem(answer.status_code, answer.content)))
        if answer.status_code >= 400:
            raise problem(answer.status_code, answer.content)
        return answer
