"""Two people change the same thing: the second is told, and nothing is lost."""

import itertools
from typing import Any

import pytest
from tests.servers import Server

NUMBERS = itertools.count(1)


def make(server: Server, kind: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A thing that can be changed: where it is, and two changes."""
    if kind == "job":
        made = server.submit("later", delay_s=3600)
        return f"/api/jobs/{made['job_id']}", {"priority": 5}, {"params": {"a": 1}}
    name = f"for a {kind} {next(NUMBERS)}"
    template = server.post("/api/job-templates", name=name, job_type="later")
    if kind == "template":
        path = f"/api/job-templates/{template['template_id']}"
        return path, {"priority": 5}, {"params": {"a": 1}}
    schedule = server.post("/api/schedules", template=template["template_id"], every="1h")
    path = f"/api/schedules/{schedule['schedule_id']}"
    return path, {"priority": 5}, {"enabled": False}


@pytest.mark.parametrize("kind", ["job", "template", "schedule"])
def test_only_the_version_that_was_read_is_changed(server: Server, kind: str) -> None:
    path, change, other = make(server, kind)
    read = server.http.get(path).headers["etag"]
    assert server.http.get(path).headers["etag"] == read

    changed = server.http.patch(path, json=change, headers={"if-match": read})
    assert changed.status_code == 200
    assert changed.headers["etag"] == server.http.get(path).headers["etag"] != read

    stale = server.http.patch(path, json=other, headers={"if-match": read})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_version")
    assert "changed since you read it" in stale.json()["detail"]
    assert server.http.get(path).headers["etag"] == changed.headers["etag"]

    for good in (f"{read}, {changed.headers['etag']}", "*"):
        assert server.http.patch(path, json=change, headers={"if-match": good}).status_code == 200
    assert server.http.patch(path, json=other).status_code == 200


@pytest.mark.parametrize("kind", ["template", "schedule"])
def test_only_the_version_that_was_read_is_removed(server: Server, kind: str) -> None:
    path, change, _ = make(server, kind)
    read = server.http.get(path).headers["etag"]
    fresh = server.http.patch(path, json=change).headers["etag"]
    assert server.http.delete(path, headers={"if-match": read}).status_code == 412
    assert server.http.delete(path, headers={"if-match": fresh}).status_code == 200


def test_a_job_that_only_waits_keeps_its_version(server: Server) -> None:
    ahead, job = (server.submit("nobody does this") for _ in range(2))
    path = f"/api/jobs/{job['job_id']}"
    before = server.http.get(path)
    server.post(f"/api/jobs/{ahead['job_id']}/cancel")
    after = server.http.get(path)
    assert before.json()["queue_position"] != after.json()["queue_position"]
    assert before.headers["etag"] == after.headers["etag"]
