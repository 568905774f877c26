"""A graph of jobs in one call.

>>> with app.pipeline() as flow:
...     data = flow.add(fetch, url="…")
...     left = flow.add(clean.options(after=data), how="left")
...     right = flow.add(clean.options(after=data), how="right")
...     flow.add(merge.options(after=[left, right]))
>>> flow.handles[-1].result()

`async with` submits without blocking the event loop.
"""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Unpack

import msgspec

from headway.client import options
from headway.client.client import Client
from headway.client.handles import JobHandle
from headway.client.options import SubmitOptions
from headway.client.references import Step
from headway.domain.handlers import Handler
from headway.domain.requests.job_requests import BatchJobRequest
from headway.protocol import jobs
from headway.protocol.jobs import Batch, BatchAnswer

if TYPE_CHECKING:
    from headway.client.functions import JobFunction

Params = ParamSpec("Params")


def handles(
    client: Client,
    requests: Sequence[BatchJobRequest],
    made: BatchAnswer,
    handlers: Mapping[str, Handler],
) -> list[JobHandle[Any]]:
    """The handles of a batch; each restores its result as its handler declares it."""
    return [
        JobHandle(client, one.job_id, one.number, handlers.get(request.job_type or ""))
        for request, one in zip(requests, made.jobs, strict=True)
    ]


class Pipeline:
    """Collects jobs and submits them together when its block ends without an error."""

    def __init__(
        self,
        client: Client,
        handlers: Mapping[str, Handler] | None = None,
        as_child: Callable[[BatchJobRequest], BatchJobRequest] = lambda request: request,
    ) -> None:
        self._client = client
        self._as_child = as_child
        self._handlers = handlers or {}
        self._requests: list[BatchJobRequest] = []
        self._is_submitted = False
        self.handles: list[JobHandle[Any]] = []

    def add(
        self, function: "JobFunction[Params, Any]", *args: Params.args, **params: Params.kwargs
    ) -> Step:
        """Add a job."""
        return self._add(function.request(*args, **params))

    def add_command(self, *argv: str, **chosen: Unpack[SubmitOptions]) -> Step:
        """Add a program to run."""
        return self._add(options.request("command", {"argv": list(argv)}, chosen))

    def _add(self, request: BatchJobRequest) -> Step:
        self._refuse_if_submitted()
        ref = f"step-{len(self._requests) + 1}"
        self._requests.append(msgspec.structs.replace(request, ref=ref))
        return Step(ref)

    def submit(self) -> list[JobHandle[Any]]:
        """Submit what was added, once, all or nothing; a `with` block does it at its end."""
        return self._handles(self._client.send(jobs.create_jobs, body=Batch(jobs=self._once())))

    async def submit_async(self) -> list[JobHandle[Any]]:
        """Like `submit`, without blocking the event loop."""
        return self._handles(
            await self._client.send_async(jobs.create_jobs, body=Batch(jobs=self._once()))
        )

    def _once(self) -> list[BatchJobRequest]:
        self._refuse_if_submitted()
        self._is_submitted = True
        return [*map(self._as_child, self._requests)]

    def _refuse_if_submitted(self) -> None:
        if self._is_submitted:
            raise RuntimeError("this pipeline was submitted already; make another one")

    def _handles(self, made: BatchAnswer) -> list[JobHandle[Any]]:
        self.handles = handles(self._client, self._requests, made, self._handlers)
        return self.handles

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._requests and not self._is_submitted:
            self.submit()

    async def __aenter__(self) -> "Pipeline":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._requests and not self._is_submitted:
            await self.submit_async()
