"""Pages are bounded in bytes: large values are left out, and large items end a page early."""

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.servers import Server, Stage, wait_for

MANY = [f"tag {number:07d}" for number in range(60_000)]
"""Close to a megabyte of what lists show."""

LARGE = {"text": "é" * 100_000}


def pages(server: Server, path: str, **query: Any) -> Iterator[list[Any]]:
    """The items of a list, page by page."""
    cursor: dict[str, str] = {}
    while True:
        page = server.get(path, limit=200, **query, **cursor)
        yield page["items"]
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}


def test_large_params_are_left_out_of_lists_and_their_size_is_said(server: Server) -> None:
    server.post("/api/queue/pause", job_type="large")
    large = server.submit("large", params=LARGE, tags=["listed"])
    small = server.submit("large", params={"text": "short"}, tags=["listed"])
    for path, query in (("/api/jobs", {"tag": "listed"}), ("/api/queue", {})):
        items = {one["number"]: one for one in server.get(path, limit=200, **query)["items"]}
        assert items[large["number"]]["params"] == {}
        assert items[large["number"]]["omitted"] == {"params": 200_011}
        assert items[small["number"]]["params"] == {"text": "short"}
        assert "omitted" not in items[small["number"]]
    assert server.job(large)["params"] == large["params"] == LARGE
    assert "omitted" not in server.job(large)


def test_large_results_and_errors_of_runs_are_left_out_of_lists(server: Server) -> None:
    job = server.submit("heavy", params=LARGE)
    claimed = server.post("/api/claims", worker_id="w", job_types=["heavy"], lease=True)["jobs"]
    assert claimed[0]["job"]["params"] == LARGE
    lease = f"/api/leases/{claimed[0]['lease']['lease_id']}"
    report = {"status": "FAILED", "error": "x" * 9000, "result": LARGE}
    server.post(f"{lease}/release", worker_id="w", **report)
    sizes = {"params_snapshot": 200_011, "error": 9000, "result": 200_011}
    for path, query in ((f"/api/jobs/{job['job_id']}/runs", {}), ("/api/job-runs", {"limit": 1})):
        listed = server.get(path, **query)["items"][0]
        assert (listed["params_snapshot"], listed["error"], listed["result"]) == ({}, None, None)
        assert listed["omitted"] == sizes
    run = server.get(f"/api/job-runs/{listed['run_id']}")
    assert (run["params_snapshot"], run["error"], run["result"]) == (LARGE, "x" * 9000, LARGE)
    result = server.get(f"/api/jobs/{job['job_id']}/result")
    assert (result["error"], result["result_data"]) == ("x" * 9000, LARGE)


def test_a_page_of_large_jobs_ends_early_and_the_next_ones_have_the_rest(server: Server) -> None:
    server.post("/api/queue/pause", job_type="labelled")
    made = [server.submit("labelled", tags=MANY)["number"] for _ in range(7)]
    found = list(pages(server, "/api/jobs", job_type="labelled"))
    assert [len(page) for page in found] == [4, 3]
    assert [one["number"] for page in found for one in page] == made[::-1]
    queue = [one["number"] for page in pages(server, "/api/queue") for one in page]
    assert [number for number in queue if number in made] == made


@pytest.mark.parametrize("path", ["/api/job-templates", "/api/schedules"])
def test_a_page_of_large_templates_and_schedules_ends_early(server: Server, path: str) -> None:
    text, name = "x" * 1_000_000, path.rpartition("/")[2]
    server.post("/api/job-templates", name=f"plain {name}", job_type="work")
    for number in range(6):
        if name == "schedules":
            fields: dict[str, Any] = {"template": f"plain {name}", "every": "1h", "enabled": False}
        else:
            fields = {"name": f"{name} {number}", "job_type": "work"}
        server.post(path, params={"text": text}, **fields)
    found = [one for page in pages(server, path) for one in page]
    assert len([one for one in found if one["params"] == {"text": text}]) == 6
    assert len({one[f"{name.removeprefix('job-').removesuffix('s')}_id"] for one in found}) == len(
        found
    )
    assert len(server.get(path, limit=200)["items"]) < 6


def test_a_page_of_large_groups_ends_early(server: Server) -> None:
    jobs = [{"job_type": "nothing"}] * 10_000
    server.post("/api/queue/pause", job_type="nothing")
    made = [server.post("/api/job-groups", jobs=jobs)["group_id"] for _ in range(5)]
    found = list(pages(server, "/api/job-groups"))
    assert len(found) > 1
    assert [one["group_id"] for page in found for one in page][:5] == made[::-1]


def test_a_reason_has_at_most_4096_bytes(server: Server) -> None:
    job = server.submit("reasoned", approval=True)
    for verb in ("cancel", "approve", "reject"):
        path = f"/api/jobs/{job['job_id']}/{verb}"
        answer = server.http.post(path, json={"reason": "é" * 2049})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["reason"])
    server.post(f"/api/jobs/{job['job_id']}/reject", reason="é" * 2048)


IMPATIENT = "import headway.http.server; headway.http.server.READ_WITHIN_S = 1; "


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux ends them")
def test_the_connection_of_a_client_that_does_not_read_is_ended(stage: Stage) -> None:
    settings = {"data": "data", "app": "shop:app", "port": 0}
    impatient = Server(stage, settings, IMPATIENT)
    impatient.post("/api/queue/pause")
    for _ in range(4):
        impatient.submit("labelled", tags=MANY)
    address = urlsplit(impatient.url)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((address.hostname, address.port))
        head = f"host: {address.netloc}\r\nauthorization: Bearer {impatient.token}\r\n\r\n"
        # One answer may find room in the buffers of both sides.
        reader.sendall(f"GET /api/jobs HTTP/1.1\r\n{head}".encode() * 6)
        assert reader.recv(12) == b"HTTP/1.1 200"
        connections = f"/proc/{impatient.pid}/net/tcp"
        wait_for(lambda: not _is_open(connections, reader), "the end of the connection")


def _is_open(connections: str, reader: socket.socket) -> bool:
    """Whether the server's side of a connection sends, or waits to."""
    port = f":{reader.getsockname()[1]:04X}"
    with open(connections) as file:
        rows = [line.split() for line in file]
    return any(row[2].endswith(port) and row[3] == "01" for row in rows)
