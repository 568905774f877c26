"""What is refused is named as the API names it, and the field that is wrong is said."""

import contextlib
import http.client
import json
from typing import Any

import pytest
from tests.servers import Server


def refusal(server: Server, method: str, path: str, body: Any, status: int) -> Any:
    answer = server.http.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_job_is_named_by_its_id_however_it_was_asked_for(server: Server) -> None:
    job = server.submit("note", "named")
    server.wait(job, "SUCCEEDED")
    name, path = job["job_id"], f"/api/jobs/{job['number']}"
    for refused, said in (
        (refusal(server, "POST", f"{path}/cancel", {}, 409), f"job {name} is not active"),
        (refusal(server, "PATCH", path, {"priority": 1}, 409), f"job {name} is SUCCEEDED and can"),
        (refusal(server, "POST", f"{path}/approve", {}, 409), f"job {name} is not awaiting"),
    ):
        assert refused["detail"].startswith(said)


def test_an_unknown_job_in_a_new_order_is_a_wrong_field(server: Server) -> None:
    refused = refusal(server, "POST", "/api/queue/reorder", {"order": [10**9]}, 422)
    assert refused["code"] == "unknown_reference"
    assert refused["errors"] == {"order": "there is no job 1000000000"}


def test_a_schedule_that_makes_no_sense_says_which_field(server: Server) -> None:
    server.post("/api/job-templates", name="refused", job_type="note", params={"name": "x"})
    for field, value in (
        ("every", "often"),
        ("at", "2020-01-01T00:00:00Z"),
        ("cron", "61 * * * *"),
    ):
        refused = refusal(
            server, "POST", "/api/schedules", {"template": "refused", field: value}, 422
        )
        assert list(refused["errors"]) == [field]


def test_deep_json_is_refused_in_few_words(server: Server) -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    refused = refusal(server, "POST", "/api/jobs", {"job_type": "x", "params": {"a": deep}}, 422)
    assert refused["detail"] == "params.a: is nested deeper than 100 levels"


@pytest.mark.parametrize("name", ["Host", "Authorization", "Idempotency-Key", "If-Match"])
def test_a_header_that_decides_something_is_given_once(server: Server, name: str) -> None:
    fine = {"Host": "127.0.0.1", "Authorization": f"Bearer {server.token}"}
    headers = [*fine.items(), ("Accept", "a/b"), ("Accept", "c/d")]
    assert ask(server, headers) == (200, None)
    twice = [(name, fine.get(name, "x")), (name, "another")]
    rest = [one for one in headers if one[0] != name]
    assert ask(server, [*rest, *twice]) == (400, f"the header {name.lower()} is given twice")


def ask(server: Server, headers: list[tuple[str, str]]) -> tuple[int, str | None]:
    """List jobs with exactly these headers; the status, and what was wrong."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    with contextlib.closing(connection):
        connection.putrequest("GET", "/api/jobs?limit=1", skip_host=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()).get("detail")
