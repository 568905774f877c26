"""A worker belongs to the token that used its id first."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.servers import Server

FOREIGN = (403, "foreign_worker")


@pytest.fixture(scope="module")
def owner(server: Server) -> Iterator[httpx.Client]:
    """The first `work` token."""
    with work_client(server) as client:
        yield client


@pytest.fixture(scope="module")
def stranger(server: Server) -> Iterator[httpx.Client]:
    """Another `work` token."""
    with work_client(server) as client:
        yield client


def work_client(server: Server) -> httpx.Client:
    return server.client(server.post("/api/tokens", name="worker", role="work")["token"])


def claim(client: httpx.Client, job_type: str, **fields: Any) -> Any:
    body = {"worker_id": "mine", "job_types": [job_type], **fields}
    answer = client.post("/api/claims", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["jobs"][0]


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code")


def test_another_token_cannot_claim_as_this_worker(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    server.submit("guarded")
    lease = claim(owner, "guarded", lease=True)["lease"]
    body = {"worker_id": "mine", "job_types": ["guarded"], "lease": True, "wait_s": 5}
    answer = stranger.post("/api/claims", json=body)
    assert refusal(answer) == FOREIGN
    assert answer.json()["detail"] == (
        "worker_id 'mine' was first used with another token; "
        "use that token, or choose another worker_id"
    )
    assert server.get(f"/api/leases/{lease['lease_id']}")["state"] == "ACTIVE"


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/api/leases/{lease}/heartbeat", {}),
        ("/api/leases/heartbeats", {"items": [{"lease_id": "{lease}"}]}),
        ("/api/leases/{lease}/release", {"status": "COMPLETED"}),
        ("/api/leases/releases", {"items": [{"lease_id": "{lease}", "status": "COMPLETED"}]}),
    ],
)
def test_another_token_cannot_touch_a_lease_of_this_worker(
    server: Server, owner: httpx.Client, stranger: httpx.Client, path: str, fields: dict[str, Any]
) -> None:
    job = server.submit("leased")
    lease = claim(owner, "leased", lease=True)["lease"]["lease_id"]
    items = [{**item, "lease_id": lease} for item in fields.get("items", [])]
    body = {"worker_id": "mine", **fields, **({"items": items} if items else {})}
    path = path.replace("{lease}", lease)
    assert refusal(stranger.post(path, json=body)) == FOREIGN
    assert server.job(job)["status"] == "RUNNING"
    assert owner.post(path, json=body).status_code == 200


def test_another_token_cannot_look_at_a_lease_of_this_worker(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    server.submit("seen")
    path = f"/api/leases/{claim(owner, 'seen', lease=True)['lease']['lease_id']}"
    assert refusal(stranger.get(path)) == FOREIGN
    assert owner.get(path).status_code == 200


def test_another_token_cannot_prepare_or_start_what_this_worker_claimed(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    job = server.submit("claimed")
    claim(owner, "claimed")
    prepare = f"/api/jobs/{job['job_id']}/preparing"
    lease = {"job_id": job["job_id"], "worker_id": "mine"}
    assert refusal(stranger.post(prepare, json={"worker_id": "mine"})) == FOREIGN
    assert refusal(stranger.post("/api/leases", json=lease)) == FOREIGN
    assert owner.post(prepare, json={"worker_id": "mine"}).status_code == 200
    assert owner.post("/api/leases", json=lease).status_code == 201


def test_another_token_cannot_send_this_worker_home(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    server.submit("gone")
    claim(owner, "gone", worker_id="leaver")
    assert refusal(stranger.delete("/api/workers/leaver")) == FOREIGN
    assert owner.delete("/api/workers/leaver").json() == {"worker_id": "leaver"}
    assert "leaver" not in str(server.get("/api/workers"))


def test_an_admin_may_speak_for_any_worker(server: Server, owner: httpx.Client) -> None:
    server.submit("helped")
    lease = claim(owner, "helped", lease=True)["lease"]["lease_id"]
    server.post(f"/api/leases/{lease}/release", worker_id="mine", status="COMPLETED")
    assert owner.get(f"/api/leases/{lease}").status_code == 200


def test_a_work_token_cannot_speak_for_the_built_in_worker(
    server: Server, stranger: httpx.Client
) -> None:
    (built_in,) = [one for one in server.get("/api/workers")["items"] if one["built_in"]]
    body = {"worker_id": built_in["worker_id"], "job_types": ["none"]}
    assert refusal(stranger.post("/api/claims", json=body)) == FOREIGN


def test_who_is_refused_does_not_keep_others_from_their_jobs(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    server.submit("fair")
    body = {"worker_id": "mine", "job_types": ["fair"]}
    assert refusal(stranger.post("/api/claims", json=body)) == FOREIGN
    server.submit("fair")
    assert claim(stranger, "fair", worker_id="theirs")["job"]["job_type"] == "fair"


def test_a_worker_learns_nothing_of_jobs_that_it_did_not_claim(
    server: Server, stranger: httpx.Client
) -> None:
    job = server.submit("hidden")
    said = set()
    for name in (job["job_id"], job["number"], 10**9):
        body = {"job_id": str(name), "worker_id": "curious"}
        for path, fields in (
            (f"/api/jobs/{name}/preparing", {"worker_id": "curious"}),
            ("/api/leases", body),
        ):
            answer = stranger.post(path, json=fields)
            detail = answer.json()["detail"].replace(str(name), "X")
            said.add((*refusal(answer), detail))
    assert said == {(404, "not_claimed", "worker curious has no claim on a job X")}


def test_only_a_known_worker_can_be_signed_off(server: Server) -> None:
    answer = server.http.delete("/api/workers/unheard-of")
    assert refusal(answer) == (404, "not_found")
    (built_in,) = [one for one in server.get("/api/workers")["items"] if one["built_in"]]
    assert refusal(server.http.delete(f"/api/workers/{built_in['worker_id']}")) == (
        409,
        "built_in_worker",
    )


def test_a_name_stays_with_its_token_after_goodbye_until_an_admin_frees_it(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    server.submit("left")
    lease = claim(owner, "left", worker_id="gone", lease=True)["lease"]["lease_id"]
    owner.post(f"/api/leases/{lease}/release", json={"worker_id": "gone", "status": "COMPLETED"})
    assert owner.delete("/api/workers/gone").status_code == 200
    assert refusal(owner.delete("/api/workers/gone")) == (404, "not_found")
    body = {"worker_id": "gone", "job_types": ["none"]}
    assert refusal(stranger.post("/api/claims", json=body)) == FOREIGN
    assert refusal(stranger.get(f"/api/leases/{lease}")) == FOREIGN
    assert owner.post("/api/claims", json=body).status_code == 204
    assert server.http.delete("/api/workers/gone").status_code == 200
    assert refusal(stranger.get(f"/api/leases/{lease}")) == FOREIGN
    assert stranger.post("/api/claims", json=body).status_code == 204


def test_an_admin_frees_the_name_of_a_worker_that_has_signed_off(
    server: Server, owner: httpx.Client, stranger: httpx.Client
) -> None:
    body = {"worker_id": "signed off", "job_types": ["none"]}
    assert owner.post("/api/claims", json=body).status_code == 204
    assert owner.delete("/api/workers/signed%20off").status_code == 200
    assert refusal(stranger.post("/api/claims", json=body)) == FOREIGN
    assert server.http.delete("/api/workers/signed%20off").status_code == 200
    assert refusal(server.http.delete("/api/workers/signed%20off")) == (404, "not_found")
    assert stranger.post("/api/claims", json=body).status_code == 204


def test_only_an_admin_drains_a_worker(server: Server, owner: httpx.Client) -> None:
    body = {"worker_id": "steady", "job_types": ["none"]}
    assert owner.post("/api/claims", json=body).status_code == 204
    assert refusal(owner.post("/api/workers/steady/drain")) == (403, "forbidden")
    assert refusal(server.http.post("/api/workers/none/drain", json={})) == (404, "not_found")
    assert server.post("/api/workers/steady/drain")["draining_since"] is not None
    told = owner.post("/api/claims", json=body)
    assert (told.status_code, told.json()["jobs"], told.json()["drain"]) == (200, [], True)
    assert server.post("/api/workers/steady/drain", drained=False)["draining_since"] is None
    assert owner.post("/api/claims", json=body).status_code == 204


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queues", [str(n) for n in range(1001)]),
        ("capabilities", [str(n) for n in range(1001)]),
        ("constraints", {"x" * 201: True}),
        ("slots", 0),
        ("slots", -1),
    ],
)
def test_what_a_worker_says_of_itself_has_bounds(
    owner: httpx.Client, field: str, value: Any
) -> None:
    answer = owner.post("/api/claims", json={"worker_id": "large", field: value})
    assert refusal(answer) == (422, "invalid_request")
