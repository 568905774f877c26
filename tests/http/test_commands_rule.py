"""Below `admin`, nothing makes, starts again, approves, triggers, changes or reroutes a command."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.servers import Server, Stage

from headway.domain.manage.tokens import Role
from headway.operations.dispatch import FUNCTIONS

COMMAND = {
    "job_type": "command",
    "params": {"argv": ["false"]},
    "retry_policy": {"max_attempts": 0},
}

REFUSED: dict[str, tuple[str, Any]] = {
    "create_job": ("/api/jobs", COMMAND),
    "create_jobs": ("/api/jobs/batch", {"jobs": [COMMAND]}),
    "create_group": ("/api/job-groups", {"name": "g", "mode": "parallel", "jobs": [COMMAND]}),
    "create_template": ("/api/job-templates", {**COMMAND, "name": "own"}),
    "change_template": ("/api/job-templates/{template}", {"params": {}}),
    "archive_template": ("/api/job-templates/{template}", None),
    "create_schedule": (
        "/api/schedules",
        {"template": "admins", "cron": "0 0 1 1 *", "params": {"argv": ["true"]}},
    ),
    "change_schedule": ("/api/schedules/{schedule}", {"params": {}, "every": "1s"}),
    "remove_schedule": ("/api/schedules/{schedule}", None),
    "trigger_schedule": ("/api/schedules/{schedule}/trigger", {}),
    "change_job": ("/api/jobs/{waiting}", {"priority": 5}),
    "move_job": ("/api/jobs/{waiting}/move", {"queue_position": 1}),
    "approve_job": ("/api/jobs/{unapproved}/approve", {}),
    "reject_job": ("/api/jobs/{unapproved}/reject", {}),
    "retry_job": ("/api/jobs/{before}/retry", {"force": True}),
    "retry_run": ("/api/job-runs/{run}/retry", {}),
    "reorder_queue": ("/api/queue/reorder", {"order": ["{waiting}"]}),
    "reorder_group": ("/api/job-groups/{group}/reorder", {"order": ["{member}"]}),
}
HARMLESS = {
    "signal_job": "a command is no program, and waits for no signal",
    "cancel_job": "stopping is not restricted",
    "cancel_group": "stopping is not restricted",
    "act_on_jobs": "refuses each command among the jobs, and says so in its answer",
    "put_artifact": "is a fact that jobs wait for, as the end of any job is",
    "delete_artifact": "is a fact that jobs wait for, as the end of any job is",
}


@pytest.fixture(scope="module")
def names(server: Server) -> dict[str, str]:
    """An admin's commands: a template, a schedule, and jobs in every state that matters."""
    template = server.post("/api/job-templates", name="admins", **COMMAND)
    schedule = server.post("/api/schedules", template="admins", cron="0 0 1 1 *", enabled=False)
    failed = server.wait(server.post("/api/jobs", **COMMAND), "FAILED")
    before = server.submit("nothing takes it", delay_s=3600)
    server.post("/api/jobs", **COMMAND, after=[before["job_id"]])
    later = {**COMMAND, "delay_s": 3600}
    group = server.post("/api/job-groups", name="g", mode="parallel", jobs=[later])
    return {
        "template": template["template_id"],
        "schedule": schedule["schedule_id"],
        "run": server.runs(failed)[0]["run_id"],
        "before": before["job_id"],
        "waiting": server.post("/api/jobs", **later)["job_id"],
        "unapproved": server.post("/api/jobs", **COMMAND, approval=True)["job_id"],
        "group": group["group_id"],
        "member": group["members"][0]["job_id"],
    }


@pytest.fixture(scope="module")
def submitter(server: Server) -> Iterator[httpx.Client]:
    token = server.post("/api/tokens", name="for submits", role="submit")["token"]
    with server.client(token) as client:
        yield client


def test_every_operation_below_admin_is_judged() -> None:
    below = {
        one.name
        for operation, one in FUNCTIONS.items()
        if operation.method != "GET" and operation.role is Role.SUBMIT
    }
    assert below == REFUSED.keys() | HARMLESS.keys()
    assert not REFUSED.keys() & HARMLESS.keys()


@pytest.mark.parametrize("name", REFUSED)
def test_submit_reaches_no_command(
    names: dict[str, str], submitter: httpx.Client, name: str
) -> None:
    (operation,) = (row for row, one in FUNCTIONS.items() if one.name == name)
    path, body = REFUSED[name]
    if body and "order" in body:
        body = {"order": [one.format(**names) for one in body["order"]]}
    answer = submitter.request(operation.method, path.format(**names), json=body)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text


@pytest.mark.parametrize(
    "override",
    [
        {"params": {"env": {"A": "b"}}},
        {"queue": "elsewhere"},
        {"requires": []},
        {"locks": []},
        {"limits": {}},
        {"timeout_s": 1},
        {"cost_units": 0},
        {"constraints": {"gpu_required": True}},
        {"retry_policy": {"max_attempts": 9}},
        {"webhook_url": "http://127.0.0.1:9/"},
        {"produces": ["custom:a:b"]},
        {"tags": ["x"]},
    ],
    ids=lambda override: next(iter(override)),
)
def test_an_admins_template_is_submitted_as_it_stands(
    names: dict[str, str], submitter: httpx.Client, override: dict[str, Any]
) -> None:
    wanted = {"template": names["template"], **override}
    answer = submitter.post("/api/jobs", json=wanted)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text
    batch = submitter.post("/api/jobs/batch", json={"jobs": [wanted]})
    assert batch.status_code == 403
    allowed = {"template": names["template"], "priority": 5, "delay_s": 3600}
    assert submitter.post("/api/jobs", json=allowed).status_code == 201


def test_a_server_without_commands_makes_none_and_why_says_so(stage: Stage) -> None:
    with_commands = stage.serve()
    waiting = with_commands.post("/api/jobs", **COMMAND, delay_s=0, requires=["far away"])
    with_commands.post("/api/job-templates", name="admins", **COMMAND)
    with_commands.stop()
    server = stage.serve(allow_commands=False)
    for path, body in (
        ("/api/jobs", COMMAND),
        ("/api/jobs", {"template": "admins"}),
        ("/api/jobs/batch", {"jobs": [COMMAND]}),
        (f"/api/jobs/{waiting['job_id']}/retry", {"force": True}),
    ):
        answer = server.http.post(path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "commands_off"), path
    gates = server.get(f"/api/jobs/{waiting['job_id']}/why")["gates"]
    assert "runs no commands" in str(gates[-1]["blockers"])


def test_a_server_without_commands_hands_none_out(stage: Stage) -> None:
    with_commands = stage.serve()
    waiting = with_commands.post("/api/jobs", **COMMAND, requires=["far away"])
    with_commands.stop()
    server = stage.serve(allow_commands=False)
    claim = {"worker_id": "w", "capabilities": ["far away"], "lease": True}
    assert server.http.post("/api/claims", json=claim).status_code == 204
    gates = server.get(f"/api/jobs/{waiting['job_id']}/why")["gates"]
    assert (gates[-1]["gate"], gates[-1]["state"]) == ("worker", "closed")
