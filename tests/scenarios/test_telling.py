"""Schedules make jobs, webhooks tell of them."""

import base64
import hashlib
import hmac
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.scheduler.endpoints import Message, endpoint
from tests.servers import Server, Stage, wait_for


def jobs_of(server: Server, template: Any) -> list[Any]:
    """Jobs that a template made."""
    return list(server.get("/api/jobs", template_id=template["template_id"], limit=200)["items"])


def test_a_schedule_fires_when_its_time_has_come(server: Server) -> None:
    template = server.post("/api/job-templates", name="once", job_type="note")
    at = (datetime.now(UTC) + timedelta(seconds=0.5)).isoformat()
    schedule = server.post(
        "/api/schedules", template="once", at=at, params={"name": "on time"}, priority="HIGH"
    )
    (job,) = wait_for(lambda: jobs_of(server, template), "the job of the schedule")
    assert (job["schedule_id"], job["priority"]) == (schedule["schedule_id"], 10)
    assert server.wait(job, "SUCCEEDED")["params"] == {"name": "on time"}


def test_a_schedule_repeats(server: Server) -> None:
    template = server.post(
        "/api/job-templates", name="often", job_type="note", params={"name": "again"}
    )
    schedule = server.post("/api/schedules", template="often", every="1s")
    wait_for(lambda: len(jobs_of(server, template)) >= 2, "two fires")
    path = f"/api/schedules/{schedule['schedule_id']}"
    assert server.http.patch(path, json={"enabled": False}).status_code == 200
    fires = [job["fire_time"] for job in jobs_of(server, template)]
    assert len(fires) == len(set(fires))


def test_missed_fires_of_a_cron_schedule_become_one_job(stage: Stage) -> None:
    server = stage.serve()
    template = server.post(
        "/api/job-templates", name="cron", job_type="note", params={"name": "cron"}
    )
    server.post("/api/schedules", template="cron", cron="*/5 * * * *")
    assert server.stop() == 0
    _make_late(server, datetime.now(UTC) - timedelta(hours=1))

    for _ in range(2):
        server = stage.serve()
        server.wait(_first_job(server, template), "SUCCEEDED")
        server.kill()
    assert stage.notes() == ["cron"]


def _make_late(server: Server, moment: datetime) -> None:
    """As if nobody had been there since that moment."""
    raw = sqlite3.connect(server.data / "headway.db")
    with raw:
        raw.execute(
            "UPDATE schedules SET next_at = ?, body = json_set(body, '$.next_trigger_at', ?)",
            (int(moment.timestamp() * 1000), moment.isoformat()),
        )
    raw.close()


def _first_job(server: Server, template: Any) -> Any:
    return wait_for(lambda: jobs_of(server, template), "the job of the schedule")[0]


def is_signed(message: Message, secret: str) -> bool:
    """Whether the signature fits, as Standard Webhooks says."""
    headers = message.headers
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + message.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return f"v1,{wanted}" in headers["webhook-signature"].split()


def test_a_webhook_that_fails_first_is_told_again_with_the_same_id(server: Server) -> None:
    with endpoint(500, 200) as told:
        hook = server.post("/api/webhooks", url=told.url, events=["job.run.completed"])
        job = server.submit("note", "told")
        first, second = told.receive(), told.receive()
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert is_signed(first, hook["secret"])
        assert is_signed(second, hook["secret"])
        payload = json.loads(second.body)
        (run,) = server.runs(job)
        assert payload["event"] == "job.run.completed"
        assert payload["job_id"] == job["job_id"]
        for field in ("run_id", "status", "started_at", "finished_at", "artifacts", "error"):
            assert payload[field] == run[field], field
        deliveries = "/api/webhook-deliveries"
        wait_for(
            lambda: server.get(deliveries, job_id=job["job_id"], status="DELIVERED")["items"],
            "the delivery to be recorded",
        )
        server.http.delete(f"/api/webhooks/{hook['webhook_id']}")


def test_a_run_that_a_crash_ended_is_told_too(stage: Stage) -> None:
    with endpoint(200) as told:
        server = stage.serve()
        secret = server.get("/api/webhooks/secret")["secret"]
        job = server.submit("hold", "a", webhook_url=told.url)
        stage.wait_for_note("a")
        server.kill()
        server = stage.serve()
        message = told.receive()
        assert is_signed(message, secret)
        payload = json.loads(message.body)
        assert (payload["event"], payload["job_id"]) == ("job.run.failed", job["job_id"])
        assert payload["error"] == "Scheduler crash recovery"
