"""A submitted job in the caller's hands."""

from typing import Any, Generic, Self, TypeVar, cast

from headway.client.client import Client
from headway.domain import errors, states, taken
from headway.domain.handlers import Handler
from headway.domain.jobs import Job, JobResult
from headway.domain.states import JobStatus
from headway.domain.steps import Step
from headway.domain.values import json_types
from headway.protocol import jobs
from headway.protocol.jobs import CancelBody, SignalAnswer, SignalBody

Result = TypeVar("Result")


class JobHandle(Generic[Result]):
    """A submitted job: wait for its result, look at it, cancel it.

    >>> handle = story.submit(genre="horror")
    >>> handle.result(timeout=60)
    """

    def __init__(
        self, client: Client, job_id: str, number: int, handler: Handler | None = None
    ) -> None:
        self._client = client
        self._handler = handler
        self.job_id = job_id
        self.number = number
        self.deduplicated = False
        """Whether the submit made no job: this one was active with the same `unique_key`."""
        self.params_differ = False
        """Whether the job that was found has other params than were asked for."""

    @classmethod
    def of(cls, client: Client, job: Job, handler: Handler | None) -> Self:
        """The handle of the job that a submit returned."""
        handle = cls(client, job.job_id, job.number, handler)
        handle.deduplicated = job.deduplicated
        handle.params_differ = job.params_differ is True
        return handle

    def __repr__(self) -> str:
        return f"<Job {self.number} {self.job_id}>"

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end, retries included, and return what the handler returned.

        It has the type that the handler declares. Raises `headway.JobFailed` if the job did not
        succeed, `headway.InvalidResult` if what it returned is not of that type, `TimeoutError` if
        it takes too long.
        """
        return self._unpack(self._client.wait(self.job_id, timeout))

    async def result_async(self, timeout: float | None = None) -> Result:
        """Like `result`, without blocking the event loop."""
        return self._unpack(await self._client.wait_async(self.job_id, timeout))

    @property
    def value(self) -> Result:
        """Its result, for the params of another job, which then comes after this one.

        Until that one starts it only stands for the result, or with `.name` and `[0]` for a part.
        """
        kind = Any if self._handler is None else self._handler.returns
        return cast(Result, taken.Value(self.job_id, kind=kind))

    def fetch(self) -> Job:
        """The job as it is now."""
        return self._client.send(jobs.get_job, id=self.job_id)

    async def fetch_async(self) -> Job:
        """The job as it is now, without blocking the event loop."""
        return await self._client.send_async(jobs.get_job, id=self.job_id)

    @property
    def status(self) -> JobStatus:
        """The status of the job now."""
        return self.fetch().status

    async def status_async(self) -> JobStatus:
        """The status of the job now, without blocking the event loop."""
        return (await self.fetch_async()).status

    def cancel(self, *, reason: str | None = None, force: bool = False) -> Job:
        """Cancel the job: at once while it waits, by request or by force while it runs."""
        return self._client.send(
            jobs.cancel_job, id=self.job_id, body=CancelBody(reason=reason, force=force)
        )

    async def cancel_async(self, *, reason: str | None = None, force: bool = False) -> Job:
        """Like `cancel`, without blocking the event loop."""
        return await self._client.send_async(
            jobs.cancel_job, id=self.job_id, body=CancelBody(reason=reason, force=force)
        )

    def signal(self, name: str, /, **payload: Any) -> SignalAnswer:
        """Send a signal: `handle.signal("approved", by="ann")`; what is given is its payload.

        It is kept until the handler waits for it. A job that has ended refuses it.
        """
        body = SignalBody(payload=json_types.plain(payload))
        return self._client.send(jobs.signal_job, id=self.job_id, name=name, body=body)

    async def signal_async(self, name: str, /, **payload: Any) -> SignalAnswer:
        """Like `signal`, without blocking the event loop."""
        body = SignalBody(payload=json_types.plain(payload))
        return await self._client.send_async(jobs.signal_job, id=self.job_id, name=name, body=body)

    def steps(self) -> list[Step]:
        """The journal: what the handler has done so far, and what it waits for."""
        return self._client.send(jobs.list_steps, id=self.job_id).items

    async def steps_async(self) -> list[Step]:
        """Like `steps`, without blocking the event loop."""
        return (await self._client.send_async(jobs.list_steps, id=self.job_id)).items

    def _unpack(self, outcome: JobResult) -> Result:
        if outcome.status not in states.SUCCESS:
            raise errors.JobFailed(self.number, outcome.status, outcome.error)
        result = outcome.result_data
        return cast(Result, result if self._handler is None else self._handler.restore(result))
