"""Direct requests get the next slot."""

import socket
import threading
from typing import Any

from tests.servers import Server, Stage, wait_for


class Asking(threading.Thread):
    """A direct request that waits for its answer."""

    def __init__(self, server: Server, name: str, **fields: Any) -> None:
        super().__init__()
        self._server = server
        self._body = {"params": {"name": name}, **fields}
        self.start()

    def run(self) -> None:
        """Ask."""
        self._answer = self._server.http.post("/api/direct/note", json=self._body)

    def answer(self) -> Any:
        """What it was answered with."""
        self.join()
        return self._answer


def reservation(server: Server) -> Any:
    """Who holds the next slot."""
    return server.get("/api/scheduler/status")["active_reservation"]


def records(server: Server) -> list[Any]:
    """What was written down about direct requests."""
    found = server.get("/api/events", limit=200)["items"]
    return [event["data"] for event in found if event["kind"] == "direct.finished"]


def test_a_direct_request_goes_before_ten_waiting_jobs(stage: Stage) -> None:
    server = stage.serve()
    running = server.submit("hold", "running")
    stage.wait_for_note("running")
    rest = [server.submit("note", f"rest {number}") for number in range(10)]
    asking = Asking(server, "direct")
    wait_for(lambda: reservation(server), "the reservation")
    stage.let_go("running")
    answer = asking.answer()
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"] == "direct"
    for job in [running, *rest]:
        server.wait(job, "SUCCEEDED")
    assert stage.notes() == ["running", "direct", *(f"rest {number}" for number in range(10))]
    assert len(server.get("/api/jobs", limit=200)["items"]) == 11


def test_a_direct_request_that_waits_too_long_is_not_executed(
    shared: Stage, server: Server
) -> None:
    job = server.submit("hold", "long")
    shared.wait_for_note("long")
    answer = Asking(server, "too late", wait_timeout_s=0.3).answer()
    assert (answer.status_code, answer.json()["code"]) == (504, "waited_too_long")
    assert reservation(server) is None
    shared.let_go("long")
    server.wait(job, "SUCCEEDED")
    server.wait(server.submit("note", "after too late"), "SUCCEEDED")
    assert "too late" not in shared.notes()


def test_a_client_that_hangs_up_gives_its_place_back(shared: Stage, server: Server) -> None:
    for round_ in range(5):
        name = f"round {round_}"
        job = server.submit("hold", name)
        shared.wait_for_note(name)
        with _ask_and_do_not_listen(server, f"gone {round_}"):
            wait_for(lambda: reservation(server), "the reservation")
        shared.let_go(name)  # at this very moment the slot comes free
        server.wait(job, "SUCCEEDED")
        server.wait(server.submit("note", f"after {name}"), "SUCCEEDED")
    wait_for(lambda: reservation(server) is None, "the end of the reservation")


def test_a_client_that_hangs_up_while_it_waits_is_not_served(stage: Stage) -> None:
    server = stage.serve()
    job = server.submit("hold", "running")
    stage.wait_for_note("running")
    with _ask_and_do_not_listen(server, "gone"):
        wait_for(lambda: reservation(server), "the reservation")
        behind = Asking(server, "stays")
        with _ask_and_do_not_listen(server, "gone from the line"):
            queued = server.submit("note", "queue")
    wait_for(lambda: len(records(server)) == 2, "the records of both")
    assert {record["status"] for record in records(server)} == {"CLIENT_GONE"}
    assert {record["duration_ms"] for record in records(server)} == {None}
    stage.let_go("running")
    assert behind.answer().json()["result"] == "stays"
    for one in (job, queued):
        server.wait(one, "SUCCEEDED")
    assert stage.notes() == ["running", "stays", "queue"]
    assert reservation(server) is None


def test_a_client_that_hangs_up_later_does_not_interrupt_its_handler(stage: Stage) -> None:
    server = stage.serve()
    with _ask_and_do_not_listen(server, "direct", "hold"):
        stage.wait_for_note("direct")
        queued = server.submit("note", "queue")
    assert Asking(server, "no slot is free", wait_timeout_s=0.3).answer().status_code == 504
    assert server.job(queued)["status"] == "QUEUED"
    stage.let_go("direct")
    server.wait(queued, "SUCCEEDED")
    wait_for(lambda: len(records(server)) == 2, "the records of both")
    assert [record["status"] for record in records(server)] == ["TIMEOUT", "CLIENT_GONE"]
    assert stage.notes() == ["direct", "queue"]
    assert reservation(server) is None


def _ask_and_do_not_listen(server: Server, name: str, job_type: str = "note") -> socket.socket:
    host, _, port = server.url.removeprefix("http://").partition(":")
    made = socket.create_connection((host, int(port)))
    body = f'{{"params": {{"name": "{name}"}}}}'
    made.sendall(
        (
            f"POST /api/direct/{job_type} HTTP/1.1\r\nhost: {host}\r\n"
            f"authorization: Bearer {server.token}\r\ncontent-length: {len(body)}\r\n\r\n{body}"
        ).encode()
    )
    return made


def test_a_handler_that_fails_returns_its_error_and_frees_the_slot(server: Server) -> None:
    answer = server.http.post("/api/direct/fail", json={"params": {"name": "direct failure"}})
    assert (answer.status_code, answer.json()["code"]) == (500, "handler_failed")
    assert answer.json()["detail"] == "RuntimeError: direct failure does not work"
    assert "Traceback" in records(server)[-1]["error"]
    server.wait(server.submit("note", "after the failure"), "SUCCEEDED")


def test_waiting_direct_requests_all_go_before_the_queue_goes_on(stage: Stage) -> None:
    server = stage.serve()
    job = server.submit("hold", "first")
    stage.wait_for_note("first")
    waiting = []
    for name in ("one", "two", "three"):
        waiting.append(_ask_and_do_not_listen(server, name))
        wait_for(lambda: reservation(server), "the first in line")
        for _ in range(20):  # by the time that these are answered, it stands in line
            assert reservation(server)
    queued = [server.submit("note", "queue"), server.submit("note", "more")]
    stage.let_go("first")
    for one in [job, *queued]:
        server.wait(one, "SUCCEEDED")
    assert stage.notes() == ["first", "one", "two", "three", "queue", "more"]
    for connection in waiting:
        connection.close()
    assert reservation(server) is None


def test_bad_direct_requests_are_refused_at_once(server: Server) -> None:
    for path, body, code in (
        ("nobody", {}, 404),
        ("note", {"params": {}}, 422),
        ("note", {"params": {"name": "x"}, "wait_timeout_s": -1}, 422),
        ("note", {"params": {"name": "x"}, "surprise": 1}, 422),
    ):
        answer = server.http.post(f"/api/direct/{path}", json=body)
        assert answer.status_code == code, answer.text


def test_an_explicit_reservation_holds_the_queue_until_it_is_released(server: Server) -> None:
    held = server.post("/api/reservations", reserved_by="me")
    job = server.submit("note", "behind a reservation")
    again = server.http.post("/api/reservations", json={"reserved_by": "you"})
    assert (again.status_code, again.json()["code"]) == (409, "slot_reserved")
    assert "me" in again.json()["detail"]
    gates = server.get(f"/api/jobs/{job['job_id']}/why")["gates"]
    assert {gate["gate"]: gate["state"] for gate in gates}["pause"] == "closed"
    server.post(f"/api/reservations/{held['reservation_id']}/release")
    server.wait(job, "SUCCEEDED")
