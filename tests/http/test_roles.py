"""Who may do what, and through which door."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.servers import Server

from headway.domain.manage.tokens import Principal, Role
from headway.operations.dispatch import AREAS, FUNCTIONS

ROLES = ("read", "submit", "work", "admin")

ALLOWED = {
    ("GET", "/api/jobs"): {"read", "submit", "admin"},
    ("POST", "/api/jobs"): {"submit", "admin"},
    ("POST", "/api/queue/pause"): {"admin"},
    ("POST", "/api/queue/resume"): {"admin"},
    ("PUT", "/api/limits/roles"): {"admin"},
    ("POST", "/api/claims"): {"work", "admin"},
    ("GET", "/api/tokens"): {"admin"},
    ("GET", "/api/webhooks"): {"admin"},
    ("GET", "/metrics"): {"read", "submit", "admin"},
    ("POST", "/api/direct/note"): {"submit", "admin"},
    ("POST", "/dashboard/codes"): {"admin"},
}

BODIES = {
    "/api/jobs": {"job_type": "role"},
    "/api/queue/pause": {"queue": "nobody uses it"},
    "/api/queue/resume": {"queue": "nobody uses it"},
    "/api/limits/roles": {"size": 1},
    "/api/claims": {"worker_id": "w", "job_types": ["nothing"]},
    "/api/direct/note": {"params": {"name": "role"}},
}


@pytest.fixture(scope="module")
def clients(server: Server) -> Iterator[dict[str, httpx.Client]]:
    """A client for each role."""
    made = {}
    for role in ROLES:
        token = server.post("/api/tokens", name=f"for {role}", role=role)["token"]
        made[role] = server.client(token)
    yield made
    for client in made.values():
        client.close()


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_it_is_for(clients: dict[str, httpx.Client], role: str) -> None:
    for (method, path), roles in ALLOWED.items():
        body = BODIES.get(path) if method != "GET" else None
        answer = clients[role].request(method, path, json=body)
        if role in roles:
            assert answer.status_code < 300, (path, answer.text)
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), path


SPECIAL = [
    ("POST", "/api/direct/{job_type}", Role.SUBMIT),
    ("GET", "/api/job-runs/{id}/logs/stdout", Role.READ),
    ("GET", "/api/jobs/{id}/logs/stdout", Role.READ),
    ("GET", "/metrics", Role.READ),
]
TABLE = [(one.method, one.path, one.role) for one in FUNCTIONS] + SPECIAL
FOR_WORKERS = {(one.method, one.path) for one in FUNCTIONS if one.for_workers}


def test_the_table_has_every_operation() -> None:
    """Operations are in it once their modules are loaded, which the table sees to."""
    assert len(FUNCTIONS) >= len(AREAS)


@pytest.mark.parametrize("role", [*ROLES, None])
def test_every_route_is_open_to_the_roles_that_the_table_names(
    server: Server, clients: dict[str, httpx.Client], role: str | None
) -> None:
    client = clients[role] if role else server.client()
    for method, path, needed in TABLE:
        target = re.sub(r"\{\w+\}", "nothing", path)
        answer = client.request(method, target, json={} if method in ("POST", "PATCH") else None)
        said = (answer.status_code, answer.json()["code"]) if answer.is_error else None
        if role is None:
            assert said == (401, "unauthorized"), (method, path)
        elif role == "work" and (method, path) in FOR_WORKERS:
            assert answer.status_code in (403, 404, 422), (method, path)  # no child of its jobs
        elif not Principal(name="x", role=Role(role)).may(needed):
            assert said == (403, "forbidden"), (method, path)
        else:
            assert answer.status_code not in (401, 403, 500), (method, path, answer.text)
    server.post("/api/queue/resume")


def test_who_may_not_is_told_so_before_the_body_is_read(clients: dict[str, httpx.Client]) -> None:
    answer = clients["read"].post("/api/jobs", content=b"x" * 3_000_000)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_without_a_token_there_is_health_and_nothing_else(server: Server) -> None:
    with server.client() as stranger:
        for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
            assert stranger.get(path).status_code == 200
        for path in ("/api/jobs", "/metrics", "/api/nothing"):
            answer = stranger.get(path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
    with server.client("hw_guess") as stranger:
        assert stranger.get("/api/jobs").status_code == 401


def test_a_page_on_another_site_cannot_reach_the_server(server: Server) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", ""):
        answer = server.http.get("/healthz", headers={"host": host})
        assert answer.status_code in (400, 403), host
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80"):
        assert server.http.get("/healthz", headers={"host": host}).status_code == 200, host


def test_a_revoked_token_is_good_for_nothing(server: Server) -> None:
    made = server.post("/api/tokens", name="short-lived", role="read")
    with server.client(made["token"]) as revoked:
        assert revoked.get("/api/jobs").status_code == 200
        assert server.http.delete(f"/api/tokens/{made['token_id']}").status_code == 200
        assert revoked.get("/api/jobs").status_code == 401
    listed = server.get("/api/tokens")["items"]
    assert made["token"] not in str(listed)


def command(**fields: Any) -> dict[str, Any]:
    """A job that runs a program."""
    return {"job_type": "command", "params": {"argv": ["true"]}, **fields}


def test_programs_are_for_admins_and_their_templates(
    server: Server, clients: dict[str, httpx.Client]
) -> None:
    submit = clients["submit"]
    assert submit.post("/api/jobs", json=command()).status_code == 403
    batch = submit.post("/api/jobs/batch", json={"jobs": [{"job_type": "x"}, command()]})
    assert (batch.status_code, list(batch.json()["errors"])) == (403, ["jobs[1]"])
    group = {"name": "g", "mode": "parallel", "jobs": [command()]}
    assert submit.post("/api/job-groups", json=group).status_code == 403
    template = {"name": "mine", **command()}
    assert submit.post("/api/job-templates", json=template).status_code == 403

    server.post("/api/job-templates", **{**template, "name": "theirs"})
    assert submit.post("/api/jobs", json={"template": "theirs"}).status_code == 201
    changed = {"template": "theirs", "params": {"argv": ["false"]}}
    assert submit.post("/api/jobs", json=changed).status_code == 403
    later = server.post("/api/jobs", **command(delay_s=3600))
    path = f"/api/jobs/{later['job_id']}"
    assert submit.patch(path, json={"params": {"argv": ["false"]}}).status_code == 403


def test_the_admin_token_is_for_its_owner_alone(server: Server) -> None:
    assert (server.data / "admin.token").stat().st_mode & 0o777 == 0o600
