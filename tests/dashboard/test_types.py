"""The page's own types say what the API says."""

import re
from pathlib import Path

import msgspec
import pytest

from headway.domain import answers, events, jobs, runs, steps, workers
from headway.domain.gates import Blocker
from headway.domain.manage import audit, cron, groups, schedules, templates, tokens, webhooks
from headway.protocol.operation import Page

TYPES = Path(__file__).parents[2] / "dashboard" / "src" / "types.ts"
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "Page": Page[object],
    "Me": answers.Me,
    "Progress": jobs.Progress,
    "WaitReason": jobs.WaitReason,
    "After": jobs.After,
    "JobLock": jobs.Lock,
    "Job": jobs.Job,
    "Run": runs.Run,
    "Step": steps.Step,
    "Blocker": Blocker,
    "GateRow": answers.GateRow,
    "Why": answers.Why,
    "EventLine": events.Event,
    "CurrentJob": answers.CurrentJob,
    "SchedulerStatus": answers.SchedulerStatus,
    "Paused": answers.Paused,
    "QueueCount": answers.QueueCount,
    "QueueStatus": answers.QueueStatus,
    "Worker": workers.Worker,
    "Schedule": schedules.Schedule,
    "Fire": cron.Fire,
    "JobType": answers.JobType,
    "Template": templates.Template,
    "Member": groups.Member,
    "Group": groups.Group,
    "Limit": answers.LimitView,
    "LockHolder": answers.LockHolder,
    "Lock": answers.LockView,
    "Webhook": webhooks.Webhook,
    "Delivery": webhooks.Delivery,
    "Token": tokens.Token,
    "AuditEntry": audit.AuditEntry,
    "Node": answers.Node,
    "Edge": answers.Edge,
    "Graph": answers.Graph,
    "RewindReport": answers.RewindReport,
}


def interfaces() -> dict[str, set[str]]:
    """The fields of each interface of the page."""
    found = re.findall(r"export interface (\w+)(?:<T>)? {(.*?)\n}", TYPES.read_text(), re.DOTALL)
    return {name: set(re.findall(r"^  (\w+)\??:", body, re.MULTILINE)) for name, body in found}


@pytest.mark.parametrize("name", interfaces())
def test_the_page_names_fields_that_the_api_has(name: str) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(STRUCTS[name])}
    assert interfaces()[name] - fields == set()
