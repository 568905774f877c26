"""A graph of jobs in one call.

>>> with app.pipeline() as flow:
...     page = flow.add(fetch, url="…")
...     thumbs = flow.map(resize, image=[1, 2, 3], page=page.value)
...     flow.add(publish.options(after=page), thumbs=thumbs.values)
>>> flow.handles[-1].result()

A result that is passed on makes its job the predecessor; `after` says it where nothing is passed.

`async with` submits without blocking the event loop.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

import msgspec

from headway.client import options
from headway.client.client import Client
from headway.client.handles import JobHandle
from headway.client.options import SubmitOptions
from headway.client.references import Step, Steps
from headway.domain import taken
from headway.domain.handlers import Handler
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.values import json_types
from headway.protocol import jobs
from headway.protocol.jobs import Batch, BatchAnswer

if TYPE_CHECKING:
    from headway.client.functions import JobFunction

Params = ParamSpec("Params")
Result = TypeVar("Result")


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


def _is_several(value: Any) -> bool:
    """Whether there is a job for each element; what a job comes to is one, whatever it is."""
    whole = (str, bytes, bytearray, Mapping, taken.Value)
    return isinstance(value, Iterable) and not isinstance(value, whole)


def _why_no_map(several: Mapping[str, Sequence[Any]]) -> str:
    if not several:
        return (
            "none of the params is a list: a job for each element of a result that is still to"
            " come can only be made by a handler"
        )
    lengths = ", ".join(f"{name} has {len(one)}" for name, one in several.items())
    return f"lists of different lengths cannot go side by side: {lengths}"


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
        self, function: "JobFunction[Params, Result]", *args: Params.args, **params: Params.kwargs
    ) -> Step[Result]:
        """Add a job."""
        return self._add(function.request(*args, **params), function.handler.returns)

    def map(self, function: "JobFunction[..., Result]", /, **params: Any) -> Steps[Result]:
        """Add a job for each element of the lists among the params; other params are for all.

        Lists of the same length go side by side. A list that is meant as a whole is written once
        for each job: `tags=[["a", "b"]] * 3`.
        """
        several = {name: list(one) for name, one in params.items() if _is_several(one)}
        lengths = {len(one) for one in several.values()}
        if len(lengths) != 1:
            raise TypeError(_why_no_map(several))
        return Steps(
            self.add(function, **{**params, **dict(zip(several, each, strict=True))})
            for each in zip(*several.values(), strict=True)
        )

    def add_command(self, *argv: str, **chosen: Unpack[SubmitOptions]) -> Step[None]:
        """Add a program to run."""
        return self._add(options.request("command", json_types.plain({"argv": argv}), chosen))

    def _add(self, request: BatchJobRequest, kind: Any = Any) -> Step[Any]:
        self._refuse_if_submitted()
        ref = f"step-{len(self._requests) + 1}"
        self._requests.append(msgspec.structs.replace(request, ref=ref))
        return Step(ref, kind)

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
