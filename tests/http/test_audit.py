"""Every change over HTTP, and every refused login, is in the audit log."""

from typing import Any

from tests.servers import Server, wait_for

from headway.domain.manage.tokens import Role
from headway.operations.dispatch import FUNCTIONS


def audit(server: Server, **query: Any) -> list[Any]:
    return list(server.get("/api/audit", **query)["items"])


def test_every_operation_that_changes_something_notes_it() -> None:
    """But for the protocol of workers, which runs and leases tell of."""
    notes_many_at_once = {"create_job", "act_on_jobs"}
    for one, bound in FUNCTIONS.items():
        if one.method != "GET" and one.role is not Role.WORK:
            notes = one.noted and one.opens.writes
            assert notes is (bound.name not in notes_many_at_once), bound.name


def test_changes_name_their_token(server: Server) -> None:
    made = server.post("/api/tokens", name="ci", role="submit")
    with server.client(made["token"]) as client:
        job = client.post("/api/jobs", json={"job_type": "late", "delay_s": 3600}).json()
        client.post(f"/api/jobs/{job['job_id']}/cancel", json={})
        batch = {"jobs": [{"job_type": "late", "delay_s": 3600} for _ in range(3)]}
        first = client.post("/api/jobs/batch", json=batch).json()["jobs"][0]["number"]
        client.post("/api/job-templates", json={"name": "t", "job_type": "late"})
        assert client.get("/api/audit").status_code == 403
    found = audit(server, actor="ci")
    assert [(one["action"], one["target"]) for one in found[1:]] == [
        ("create_jobs", f"jobs {first}-{first + 2}"),
        ("cancel_job", f"job {job['number']}"),
        ("create_job", f"job {job['number']}"),
    ]
    assert found[0]["action"] == "create_template"
    assert {(one["role"], one["token_id"]) for one in found} == {("submit", made["token_id"])}


def test_a_worker_leads_to_its_token_and_is_noted_once(server: Server) -> None:
    made = server.post("/api/tokens", name="fleet", role="work")
    body = {"worker_id": "w-1", "job_types": ["none"]}
    with server.client(made["token"]) as client:
        for slots in (1, 1, 2):
            assert client.post("/api/claims", json={**body, "slots": slots}).status_code == 204
    (entry,) = audit(server, actor="fleet")
    assert (entry["action"], entry["target"]) == ("register_worker", "worker w-1")
    assert (entry["role"], entry["token_id"]) == ("work", made["token_id"])


def test_pausing_names_the_queue(server: Server) -> None:
    server.post("/api/queue/pause", queue="audited")
    entry = audit(server, action="pause_queue")[0]
    assert (entry["actor"], entry["target"]) == ("admin.token", "queue audited")


def test_refused_logins_are_counted_by_address_and_never_hold_the_secret(server: Server) -> None:
    for _ in range(40):
        assert server.client("hw_guess").get("/api/jobs").status_code == 401
    assert server.client().post("/dashboard/session", json={"code": "guess"}).status_code == 401
    assert server.client().get("/api/jobs").status_code == 401  # without a token it is no login
    found = wait_for(lambda: audit(server, action="login_refused"), "refused logins")
    assert len(found) <= 3
    assert all(one["target"].startswith("127.0.0.1") for one in found)
    assert "guess" not in str(found)


def test_a_token_shows_when_it_was_last_used(server: Server) -> None:
    made = server.post("/api/tokens", name="used", role="read")

    def last_used() -> Any:
        tokens = server.get("/api/tokens")["items"]
        return next(one for one in tokens if one["token_id"] == made["token_id"])["last_used_at"]

    assert last_used() is None
    with server.client(made["token"]) as client:
        assert client.get("/api/jobs").status_code == 200
    assert wait_for(last_used, "the use of a token") >= made["created_at"]
