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
    from headway import protocol, testing
    from headway.client.app import App
    from headway.client.client import Client
    from headway.client.functions import JobFunction
    from headway.client.handles import JobHandle
    from headway.client.options import JobOptions, SubmitOptions
    from headway.client.pipelines import Pipeline
    from headway.client.references import Step, Steps
    from headway.domain import errors
    from headway.domain.answers import Graph, QueueStatus, Why
    from headway.domain.errors import (
        Conflict,
        Forbidden,
        HandlerFailed,
        HeadwayError,
        Invalid,
        InvalidParams,
        InvalidRequest,
        InvalidResult,
        JobFailed,
        NotFinished,
        NotFound,
        SignalTimeout,
        Unauthorized,
        Unavailable,
        WaitedTooLong,
    )
    from headway.domain.events import Event
    from headway.domain.jobs import Backoff, Job, JobResult, Lane, PinnedHead, RetryPolicy
    from headway.domain.jobs import Mode as LockMode
    from headway.domain.jobs import Policy as AfterPolicy
    from headway.domain.manage.groups import (
        AsConfigured,
        Group,
        GroupFailurePolicy,
        GroupMode,
        GroupStatus,
        OnFailure,
        Verdict,
    )
    from headway.domain.manage.groups import Member as GroupMember
    from headway.domain.manage.limits import ConcurrencyPolicy, StandardPolicy
    from headway.domain.manage.schedules import Catchup, Overlap, Schedule
    from headway.domain.manage.templates import Template, TemplateStatus
    from headway.domain.manage.tokens import Role, Token
    from headway.domain.manage.webhooks import Delivery, Webhook
    from headway.domain.requests.group_requests import GroupRequest
    from headway.domain.requests.job_requests import (
        AfterRequest,
        BatchJobRequest,
        JobPatch,
        JobRequest,
        LockRequest,
    )
    from headway.domain.requests.schedule_requests import SchedulePatch, ScheduleRequest
    from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
    from headway.domain.runs import Run, RunStatus
    from headway.domain.signals import Fail, RetryAfter, Skip, Suspended
    from headway.domain.states import JobStatus
    from headway.protocol.jobs import JobQuery
    from headway.protocol.operation import Page, Paging
    from headway.protocol.runs import RunQuery
    from headway.protocol.schedules import ScheduleQuery
    from headway.protocol.templates import TemplateQuery
    from headway.protocol.webhooks import DeliveryQuery
    from headway.settings import Settings
    from headway.worker.async_context import AsyncJobContext
    from headway.worker.context import JobContext

_HOMES = {
    "AfterPolicy": "headway.domain.jobs:Policy",
    "AfterRequest": "headway.domain.requests.job_requests",
    "App": "headway.client.app",
    "AsConfigured": "headway.domain.manage.groups",
    "AsyncJobContext": "headway.worker.async_context",
    "Backoff": "headway.domain.jobs",
    "BatchJobRequest": "headway.domain.requests.job_requests",
    "Catchup": "headway.domain.manage.schedules",
    "Client": "headway.client.client",
    "ConcurrencyPolicy": "headway.domain.manage.limits",
    "Conflict": "headway.domain.errors",
    "Delivery": "headway.domain.manage.webhooks",
    "DeliveryQuery": "headway.protocol.webhooks",
    "Event": "headway.domain.events",
    "Fail": "headway.domain.signals",
    "Forbidden": "headway.domain.errors",
    "Graph": "headway.domain.answers",
    "Group": "headway.domain.manage.groups",
    "GroupFailurePolicy": "headway.domain.manage.groups",
    "GroupMember": "headway.domain.manage.groups:Member",
    "GroupMode": "headway.domain.manage.groups",
    "GroupRequest": "headway.domain.requests.group_requests",
    "GroupStatus": "headway.domain.manage.groups",
    "HandlerFailed": "headway.domain.errors",
    "HeadwayError": "headway.domain.errors",
    "Invalid": "headway.domain.errors",
    "InvalidParams": "headway.domain.errors",
    "InvalidRequest": "headway.domain.errors",
    "InvalidResult": "headway.domain.errors",
    "Job": "headway.domain.jobs",
    "JobContext": "headway.worker.context",
    "JobFailed": "headway.domain.errors",
    "JobFunction": "headway.client.functions",
    "JobHandle": "headway.client.handles",
    "JobOptions": "headway.client.options",
    "JobPatch": "headway.domain.requests.job_requests",
    "JobQuery": "headway.protocol.jobs",
    "JobRequest": "headway.domain.requests.job_requests",
    "JobResult": "headway.domain.jobs",
    "JobStatus": "headway.domain.states",
    "Lane": "headway.domain.jobs",
    "LockMode": "headway.domain.jobs:Mode",
    "LockRequest": "headway.domain.requests.job_requests",
    "NotFinished": "headway.domain.errors",
    "NotFound": "headway.domain.errors",
    "OnFailure": "headway.domain.manage.groups",
    "Overlap": "headway.domain.manage.schedules",
    "Page": "headway.protocol.operation",
    "Paging": "headway.protocol.operation",
    "PinnedHead": "headway.domain.jobs",
    "Pipeline": "headway.client.pipelines",
    "QueueStatus": "headway.domain.answers",
    "RetryAfter": "headway.domain.signals",
    "RetryPolicy": "headway.domain.jobs",
    "Role": "headway.domain.manage.tokens",
    "Run": "headway.domain.runs",
    "RunQuery": "headway.protocol.runs",
    "RunStatus": "headway.domain.runs",
    "Schedule": "headway.domain.manage.schedules",
    "SchedulePatch": "headway.domain.requests.schedule_requests",
    "ScheduleQuery": "headway.protocol.schedules",
    "ScheduleRequest": "headway.domain.requests.schedule_requests",
    "Settings": "headway.settings",
    "SignalTimeout": "headway.domain.errors",
    "Skip": "headway.domain.signals",
    "StandardPolicy": "headway.domain.manage.limits",
    "Step": "headway.client.references",
    "Steps": "headway.client.references",
    "SubmitOptions": "headway.client.options",
    "Suspended": "headway.domain.signals",
    "Template": "headway.domain.manage.templates",
    "TemplatePatch": "headway.domain.requests.template_requests",
    "TemplateQuery": "headway.protocol.templates",
    "TemplateRequest": "headway.domain.requests.template_requests",
    "TemplateStatus": "headway.domain.manage.templates",
    "Token": "headway.domain.manage.tokens",
    "Unauthorized": "headway.domain.errors",
    "Unavailable": "headway.domain.errors",
    "Verdict": "headway.domain.manage.groups",
    "WaitedTooLong": "headway.domain.errors",
    "Webhook": "headway.domain.manage.webhooks",
    "Why": "headway.domain.answers",
}
"""Where each name lives; after a colon, what it is called there."""

_MODULES = {
    "errors": "headway.domain.errors",
    "protocol": "headway.protocol",
    "testing": "headway.testing",
}

__all__ = [
    "AfterPolicy",
    "AfterRequest",
    "App",
    "AsConfigured",
    "AsyncJobContext",
    "Backoff",
    "BatchJobRequest",
    "Catchup",
    "Client",
    "ConcurrencyPolicy",
    "Conflict",
    "Delivery",
    "DeliveryQuery",
    "Event",
    "Fail",
    "Forbidden",
    "Graph",
    "Group",
    "GroupFailurePolicy",
    "GroupMember",
    "GroupMode",
    "GroupRequest",
    "GroupStatus",
    "HandlerFailed",
    "HeadwayError",
    "Invalid",
    "InvalidParams",
    "InvalidRequest",
    "InvalidResult",
    "Job",
    "JobContext",
    "JobFailed",
    "JobFunction",
    "JobHandle",
    "JobOptions",
    "JobPatch",
    "JobQuery",
    "JobRequest",
    "JobResult",
    "JobStatus",
    "Lane",
    "LockMode",
    "LockRequest",
    "NotFinished",
    "NotFound",
    "OnFailure",
    "Overlap",
    "Page",
    "Paging",
    "PinnedHead",
    "Pipeline",
    "QueueStatus",
    "RetryAfter",
    "RetryPolicy",
    "Role",
    "Run",
    "RunQuery",
    "RunStatus",
    "Schedule",
    "SchedulePatch",
    "ScheduleQuery",
    "ScheduleRequest",
    "Settings",
    "SignalTimeout",
    "Skip",
    "StandardPolicy",
    "Step",
    "Steps",
    "SubmitOptions",
    "Suspended",
    "Template",
    "TemplatePatch",
    "TemplateQuery",
    "TemplateRequest",
    "TemplateStatus",
    "Token",
    "Unauthorized",
    "Unavailable",
    "Verdict",
    "WaitedTooLong",
    "Webhook",
    "Why",
    "connect",
    "errors",
    "protocol",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Names are loaded when they are used, so that the command line starts quickly."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        home, _, there = _HOMES[name].partition(":")
        return getattr(import_module(home), there or name)
    raise AttributeError(f"module 'headway' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What can be completed: also the names that are not loaded yet."""
    return sorted({*globals(), *__all__})


def connect(
    url: str | None = None,
    token: str | None = None,
    data: str | None = None,
    db: str | None = None,
    *,
    settings: "Settings | None" = None,
) -> "Client":
    """A client of the server that is named or found, otherwise straight to the database."""
    from headway import settings as settings_module
    from headway import wiring

    given = {"url": url, "token": token, "data": data, "db": db}
    return wiring.connect(settings or settings_module.load(given))
