"""What runs elsewhere print is sent to the server, piece by piece, by the holder of the lease."""

import base64
from typing import Any

import httpx
from tests.servers import Server, Stage


def start(server: Server, job_type: str, **fields: Any) -> str:
    """The lease of a new job that worker w1 has started."""
    server.submit(job_type)
    body = {"worker_id": "w1", "job_types": [job_type], "lease": True, **fields}
    lease_id: str = server.post("/api/claims", **body)["jobs"][0]["lease"]["lease_id"]
    return lease_id


def send(server: Server, lease: str, text: bytes, offset: int, **fields: Any) -> httpx.Response:
    data = base64.b64encode(text).decode()
    body = {"worker_id": "w1", "offset": offset, "data": data, **fields}
    return server.http.post(f"/api/leases/{lease}/logs", json=body)


def log(server: Server, lease: str, stream: str = "stdout") -> bytes:
    return server.http.get(f"/api/job-runs/{lease}/logs/{stream}").content


def test_pieces_make_up_the_log_of_the_run(server: Server) -> None:
    lease = start(server, "pieces")
    assert send(server, lease, b"one\n", 0).json() == {"size": 4}
    assert send(server, lease, b"\xff\x00\n", 4).json() == {"size": 7}
    assert send(server, lease, b"oh\n", 0, stream="stderr").json() == {"size": 3}
    assert log(server, lease) == b"one\n\xff\x00\n"
    assert log(server, lease, "stderr") == b"oh\n"


def test_a_piece_that_is_sent_again_changes_nothing(server: Server) -> None:
    lease = start(server, "again")
    for text, offset in ((b"one\n", 0), (b"one\n", 0), (b"one\ntwo\n", 0), (b"two\n", 4)):
        assert send(server, lease, text, offset).status_code == 200
    assert log(server, lease) == b"one\ntwo\n"


def test_a_piece_that_would_leave_a_gap_is_refused_with_the_place_to_go_on(server: Server) -> None:
    lease = start(server, "gap")
    send(server, lease, b"one\n", 0)
    answer = send(server, lease, b"three\n", 8)
    assert (answer.status_code, answer.json()["code"]) == (409, "log_gap")
    assert answer.json()["detail"].endswith("send from 4, where the log ends")
    item = {"lease_id": lease, "offset": 8, "data": "eA=="}
    (one,) = server.post("/api/leases/logs", worker_id="w1", items=[item])["items"]
    assert (one["ok"], one["code"], one["size"]) == (False, "log_gap", 4)
    assert log(server, lease) == b"one\n"


def test_only_the_holder_of_a_live_lease_may_add_to_its_log(server: Server) -> None:
    lease = start(server, "held")
    foreign = send(server, lease, b"lie\n", 0, worker_id="w2")
    assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign_lease")
    unknown = send(server, "01890000-0000-7000-8000-000000000000", b"x", 0)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    server.post(f"/api/leases/{lease}/release", worker_id="w1", status="COMPLETED")
    late = send(server, lease, b"late\n", 0)
    assert (late.status_code, late.json()["code"]) == (409, "lease_ended")
    assert log(server, lease) == b""


def test_pieces_of_many_runs_are_answered_one_by_one(server: Server) -> None:
    leases = [start(server, "many") for _ in range(2)]
    items = [{"lease_id": lease, "data": "eA=="} for lease in [*leases, "unknown"]]
    answers = server.post("/api/leases/logs", worker_id="w1", items=items)["items"]
    assert [one["ok"] for one in answers] == [True, True, False]
    assert [log(server, lease) for lease in leases] == [b"x", b"x"]


def test_a_piece_has_a_size_and_a_place(server: Server) -> None:
    lease = start(server, "bad")
    assert send(server, lease, b"x" * (256 * 1024), 0).status_code == 200
    assert send(server, lease, b"x" * (256 * 1024 + 1), 0).status_code == 413
    assert send(server, lease, b"x", -1).status_code == 422
    assert send(server, lease, b"x", 0, stream="stdin").status_code == 422
    body = {"worker_id": "w1", "data": "not base64"}
    assert server.http.post(f"/api/leases/{lease}/logs", json=body).status_code == 422


def test_another_token_cannot_write_for_this_worker(server: Server) -> None:
    lease = start(server, "whose")
    token = server.post("/api/tokens", name="other", role="work")["token"]
    with server.client(token) as stranger:
        body = {"worker_id": "w1", "data": "eA=="}
        answer = stranger.post(f"/api/leases/{lease}/logs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_worker")


def test_a_worker_that_sends_without_end_keeps_the_bound_of_the_server(shared: Stage) -> None:
    server = shared.serve(data="bounded", largest_output=512 * 1024)
    lease = start(server, "loud")
    piece = b"".join(b"%07d\n" % number for number in range(16 * 1024))
    for round_ in range(20):
        answer = send(server, lease, piece, round_ * len(piece))
        assert answer.json() == {"size": (round_ + 1) * len(piece)}
    kept = log(server, lease)
    assert len(kept) < 513 * 1024
    assert kept.startswith(b"0000000\n")
    assert b"bytes of output were cut here" in kept
    assert kept.endswith(b"0016383\n")
