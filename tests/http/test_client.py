"""The client's way to a real server."""

import asyncio
import socket
import threading

import pytest
from tests.servers import WAIT_S, Server

import headway
from headway import protocol, worker_wiring
from headway.client.client import Client
from headway.client.over_http import HttpTransport
from headway.domain import errors
from headway.domain.requests.job_requests import JobRequest
from headway.settings import Settings
from headway.worker.remote import RemoteTransport


@pytest.fixture
def client(server: Server) -> Client:
    return Client(HttpTransport(server.url, server.token))


def test_many_threads_share_a_client(client: Client) -> None:
    made: list[int] = []

    def submit() -> None:
        for _ in range(20):
            request = JobRequest(job_type="shared")
            made.append(client.send(protocol.jobs.create_job, body=request).number)
            client.send(protocol.jobs.get_job, id=made[-1])

    threads = [threading.Thread(target=submit) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(set(made)) == 100


def test_a_connection_that_the_server_closed_is_replaced() -> None:
    """The first connection is closed after its answer; the next call must not notice."""
    listening = socket.create_server(("127.0.0.1", 0))
    serving = _serve_once_each(
        listening, ["404 Not Found"] * 2, '{"code":"not_found","detail":"no"}'
    )
    client = Client(HttpTransport(f"http://127.0.0.1:{listening.getsockname()[1]}", None))
    for _ in range(2):
        with pytest.raises(errors.NotFound):
            client.send(protocol.jobs.get_job, id=1)
    serving.join(WAIT_S)
    listening.close()
    client.close()


def test_an_answer_of_another_version_is_said_to_be_one() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    serving = _serve_once_each(listening, ["200 OK"], '{"something": "else"}')
    client = Client(HttpTransport(f"http://127.0.0.1:{listening.getsockname()[1]}", None))
    with pytest.raises(errors.Unavailable, match="run another version"):
        client.send(protocol.jobs.get_job, id=1)
    serving.join(WAIT_S)
    listening.close()
    client.close()


def test_a_worker_without_a_token_sends_none_and_goes_straight_to_its_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    listening = socket.create_server(("127.0.0.1", 0))
    heads: list[bytes] = []
    serving = _serve_once_each(listening, ["200 OK"], '{"items": []}', heads)
    me = worker_wiring.registration(Settings(), [], prefix="worker", every_queue=False)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert RemoteTransport(url, None, me).heartbeat([]) == []
    serving.join(WAIT_S)
    listening.close()
    assert b"/api/leases/heartbeats" in heads[0]
    assert b"authorization" not in heads[0].lower()


def _serve_once_each(
    listening: socket.socket, statuses: list[str], body: str, heads: list[bytes] | None = None
) -> threading.Thread:
    """Answer one request a connection, and close it."""

    def serve() -> None:
        for status in statuses:
            connection, _ = listening.accept()
            with connection:
                head = connection.recv(65536)
                if heads is not None:
                    heads.append(head)
                first = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n"
                connection.sendall((first + body).encode())

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    return serving


def test_errors_have_the_servers_code_waiting_or_not(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        client.send(protocol.jobs.get_job, id=10**9)
    with pytest.raises(errors.NotFound):
        asyncio.run(client.send_async(protocol.jobs.get_job, id=10**9))
    with pytest.raises(errors.NotFound):
        list(client.log("nothing"))


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        client = Client(HttpTransport(url, None))
        with pytest.raises(errors.Unavailable, match=f"{url} does not answer: Connection refused"):
            client.send(protocol.jobs.cancel_job, id=1, body=protocol.jobs.CancelBody())
    with pytest.raises(errors.InvalidRequest, match="http://"):
        headway.connect(url="localhost:4929")


@pytest.mark.parametrize("name", ["team/gpu", "50%2F", "a b?#é"])
def test_a_name_may_hold_what_means_something_in_a_url(client: Client, name: str) -> None:
    assert (
        client.send(
            protocol.limits.put_limit, name=name, body=protocol.limits.LimitBody(size=3)
        ).name
        == name
    )
    assert client.send(protocol.limits.get_limit, name=name).size == 3
    assert client.send(protocol.limits.delete_limit, name=name).name == name
    assert (
        client.send(protocol.artifacts.put_artifact, type="data", key=name).artifact
        == f"custom:data:{name}"
    )
    assert (
        client.send(protocol.artifacts.get_artifact, type="data", key=name).artifact
        == f"custom:data:{name}"
    )
    assert (
        client.send(protocol.artifacts.delete_artifact, type="data", key=name).artifact
        == f"custom:data:{name}"
    )


def test_a_worker_and_a_handler_may_have_a_slash_in_their_names(server: Server) -> None:
    server.http.post("/api/claims", json={"worker_id": "team/w", "job_types": ["none"]})
    assert server.http.delete("/api/workers/team%2Fw").json()["worker_id"] == "team/w"
    answer = server.http.post("/api/direct/team%2Fhandler", json={})
    assert "job type team/handler" in answer.json()["detail"]
