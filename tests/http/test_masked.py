"""Secret params are shown to admins and given to workers, and to nobody else."""

from typing import Any

import pytest
from tests.servers import Server, Stage

HIDDEN = {
    "password": "hush-1",
    "API_TOKEN": "hush-2",
    "inner": {"deep": [{"client_secret": "hush-3"}], "openai_api_key": "hush-4"},
}
PARAMS = {"name": "masked", **HIDDEN}
MASKED = {
    "name": "masked",
    "password": "***",
    "API_TOKEN": "***",
    "inner": {"deep": [{"client_secret": "***"}], "openai_api_key": "***"},
}


@pytest.mark.parametrize("role", ["read", "submit"])
def test_no_answer_below_admin_holds_a_secret(server: Server, role: str) -> None:
    template = server.post("/api/job-templates", name=role, job_type="late", params=PARAMS)
    schedule = server.post("/api/schedules", template=role, cron="0 0 1 1 *", params=PARAMS)
    command = {"argv": ["false"], "env": {"PASSWORD": "hush-5"}, "secret_env": {"A": "hush-6"}}
    ended = server.submit("command", params=command)
    server.wait(ended, "FAILED")
    waiting = server.submit("late", params=PARAMS, delay_s=3600)
    token = server.post("/api/tokens", name=role, role=role)["token"]
    run_id = server.runs(ended)[0]["run_id"]
    paths = (
        *("jobs", "queue", "job-runs", "job-templates", "schedules", "events", "graph"),
        *(f"jobs/{one['number']}{sub}" for one in (ended, waiting) for sub in ("", "/runs")),
        *(f"jobs/{one['number']}{sub}" for one in (ended, waiting) for sub in ("/why", "/events")),
        *(f"job-runs/{run_id}", f"job-templates/{template['template_id']}"),
        *(f"schedules/{schedule['schedule_id']}", "job-groups", "webhook-deliveries"),
    )
    with server.client(token) as client:
        for path in paths:
            answer = client.get(f"/api/{path}")
            assert answer.status_code in (200, 403), path
            assert "hush" not in answer.text, path
        assert client.get(f"/api/jobs/{waiting['number']}").json()["params"] == MASKED
        shown = client.get(f"/api/job-runs/{run_id}").json()["params_snapshot"]
        assert shown == {"argv": ["false"], "env": {"PASSWORD": "***"}, "secret_env": "***"}
    assert server.job(waiting)["params"] == PARAMS


def test_no_answer_to_a_change_holds_a_secret(server: Server) -> None:
    token = server.post("/api/tokens", name="ci", role="submit")["token"]
    server.post("/api/job-templates", name="secret", job_type="late", params=PARAMS)
    with server.client(token) as client:
        body = {"job_type": "late", "params": PARAMS, "delay_s": 3600}
        job = client.post("/api/jobs", json=body)
        path = f"/api/jobs/{job.json()['number']}"
        schedule = {"template": "secret", "cron": "0 0 1 1 *"}
        made = client.post("/api/schedules", json=schedule)
        answers = [
            job,
            made,
            client.post("/api/jobs", json={"template": "secret", "delay_s": 3600}),
            client.patch(path, json={"priority": 5}),
            client.post(f"{path}/cancel", json={}),
            client.post(f"/api/schedules/{made.json()['schedule_id']}/trigger", json={}),
        ]
    for answer in answers:
        assert answer.status_code in (200, 201), answer.text
        assert "hush" not in answer.text
    assert job.json()["params"] == MASKED


def test_a_version_is_that_of_the_whole(server: Server) -> None:
    job = server.submit("late", params=PARAMS, delay_s=3600)
    token = server.post("/api/tokens", name="ci", role="submit")["token"]
    path = f"/api/jobs/{job['number']}"
    with server.client(token) as client:
        version = client.get(path).headers["etag"]
        assert version == server.http.get(path).headers["etag"]
        changed = client.patch(path, json={"priority": 5}, headers={"if-match": version})
        assert changed.status_code == 200


def test_a_mask_that_is_sent_back_is_refused(server: Server) -> None:
    job = server.submit("late", params=PARAMS, delay_s=3600)
    token = server.post("/api/tokens", name="ci", role="submit")["token"]
    path = f"/api/jobs/{job['number']}"
    with server.client(token) as client:
        seen = client.get(path).json()["params"]
        refused = client.patch(path, json={"params": seen})
        again = client.post("/api/jobs", json={"job_type": "late", "params": seen})
    for answer in (refused, again):
        assert answer.status_code == 422
        assert set(answer.json()["errors"]) <= {"params.password", "params.API_TOKEN"}


def test_a_worker_gets_the_params_of_its_job(server: Server) -> None:
    server.submit("far", params=PARAMS)
    token = server.post("/api/tokens", name="far", role="work")["token"]
    with server.client(token) as client:
        for brief in (False, True):
            body = {"worker_id": f"far-{brief}", "job_types": ["far"], "lease": True}
            (claimed,) = client.post("/api/claims", json={**body, "brief": brief}).json()["jobs"]
            assert claimed["job"]["params"] == PARAMS
            lease = claimed["lease"]["lease_id"]
            ended = {"worker_id": f"far-{brief}", "status": "COMPLETED"}
            released = client.post(f"/api/leases/{lease}/release", json=ended)
            assert released.status_code == 200, released.text
            server.submit("far", params=PARAMS)


def test_which_params_are_secret_is_a_setting(stage: Stage) -> None:
    server = stage.serve(secret_params=["pin", "card_*"])
    token = server.post("/api/tokens", name="look", role="read")["token"]
    params: dict[str, Any] = {"pin": 1234, "pint": 1, "CARD_no": [1, 2], "password": "shown"}
    params["secret_env"] = {"A": "always"}
    job = server.submit("late", params=params, delay_s=3600)
    with server.client(token) as client:
        seen = client.get(f"/api/jobs/{job['number']}").json()["params"]
    masked = {"pin": "***", "CARD_no": "***", "secret_env": "***"}
    assert seen == {**masked, "pint": 1, "password": "shown"}
