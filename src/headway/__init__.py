"""Headway: one durable job scheduler.

>>> import headway
>>> app = headway.App()
>>> @app.job(retries=3)
... def story(genre: str) -> str: ...
>>> story.submit(genre="horror").result(timeout=60)
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from headway.api.jobs import JobQuery
    from headway.client import calls
    from headway.client.app import App
    from headway.client.client import Client
    from headway.client.functions import JobFunction
    from headway.client.handles import JobHandle
    from headway.client.pipelines import Pipeline
    from headway.domain.errors import HeadwayError, JobFailed
    from headway.domain.jobs import Job, JobResult
    from headway.domain.requests import JobPatch, JobRequest
    from headway.domain.runs import Run, RunStatus
    from headway.domain.signals import Fail, Skip
    from headway.domain.states import JobStatus
    from headway.worker.context import JobContext

_HOMES = {
    "App": "headway.client.app",
    "Client": "headway.client.client",
    "Fail": "headway.domain.signals",
    "HeadwayError": "headway.domain.errors",
    "Job": "headway.domain.jobs",
    "JobContext": "headway.worker.context",
    "JobFailed": "headway.domain.errors",
    "JobFunction": "headway.client.functions",
    "JobHandle": "headway.client.handles",
    "JobPatch": "headway.domain.requests",
    "JobQuery": "headway.api.jobs",
    "JobRequest": "headway.domain.requests",
    "JobResult": "headway.domain.jobs",
    "JobStatus": "headway.domain.states",
    "Pipeline": "headway.client.pipelines",
    "Run": "headway.domain.runs",
    "RunStatus": "headway.domain.runs",
    "Skip": "headway.domain.signals",
}

__all__ = [
    "App",
    "Client",
    "Fail",
    "HeadwayError",
    "Job",
    "JobContext",
    "JobFailed",
    "JobFunction",
    "JobHandle",
    "JobPatch",
    "JobQuery",
    "JobRequest",
    "JobResult",
    "JobStatus",
    "Pipeline",
    "Run",
    "RunStatus",
    "Skip",
    "calls",
    "connect",
]


def __getattr__(name: str) -> Any:
    """Names are loaded when they are used, so that the command line starts quickly."""
    from importlib import import_module

    if name == "calls":
        return import_module("headway.client.calls")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headway' has no attribute {name!r}")


def connect(url: str | None = None, token: str | None = None, data: str | None = None) -> "Client":
    """A client of the server that is named or found, otherwise straight to the database."""
    from headway import settings, wiring

    return wiring.connect(settings.load({"url": url, "token": token, "data": data}))
