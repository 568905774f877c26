"""What a token has open ends when it is revoked or expires."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from tests.servers import Server, Stage

from headway.clock import SystemClock
from headway.scheduler.manage import tokens
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase

SSE = {"accept": "text/event-stream"}
SOON_S = 2.0
BY = pytest.mark.parametrize("by", ["the server", "another process"])


@contextmanager
def short_lived(
    server: Server, by: str, role: str
) -> Iterator[tuple[httpx.Client, Callable[[], object]]]:
    """A client with a token of its own, and the way to revoke it."""
    made = server.post("/api/tokens", name="short", role=role)
    with server.client(made["token"]) as client:
        if by == "the server":
            yield client, lambda: server.http.delete(f"/api/tokens/{made['token_id']}")
        else:
            yield client, lambda: revoke_beside(server, made["token_id"])


def revoke_beside(server: Server, token_id: str) -> None:
    """Revoke a token on the database that the server has open."""
    store = Store(SqliteDatabase(server.data / "headway.db", SystemClock()))
    try:
        store.write(lambda tx: tokens.revoke(tx, token_id))
    finally:
        store.close()


@BY
def test_an_event_stream_ends(server: Server, by: str) -> None:
    with (
        short_lived(server, by, "read") as (client, revoke),
        client.stream("GET", "/api/events", headers=SSE) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == ": connected"
        revoke()
        began = time.monotonic()
        assert [line for line in lines if line][-1].endswith("was revoked, or has expired")
        assert time.monotonic() - began < SOON_S
        assert client.get("/api/jobs").json()["code"] == "token_refused"


@BY
def test_a_followed_log_ends(shared: Stage, server: Server, by: str) -> None:
    job = server.submit("talk", by)
    server.wait(job, "RUNNING")
    path = f"/api/jobs/{job['number']}/logs/stdout"
    with (
        short_lived(server, by, "read") as (client, revoke),
        client.stream("GET", path, params={"follow": "true"}) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == f"hello {by}"
        revoke()
        began = time.monotonic()
        assert list(lines) == []
        assert time.monotonic() - began < SOON_S
    shared.let_go(by)
    server.wait(job, "SUCCEEDED")


@BY
def test_a_waiting_claim_ends_and_gets_no_job(server: Server, by: str) -> None:
    with short_lived(server, by, "work") as (client, revoke):
        answers: list[httpx.Response] = []
        body = {"worker_id": by, "job_types": [f"rare {by}"], "wait_s": 30}
        claim = threading.Thread(
            target=lambda: answers.append(client.post("/api/claims", json=body))
        )
        claim.start()
        while by not in str(server.get("/api/workers")):
            time.sleep(0.02)
        revoke()
        began = time.monotonic()
        job = server.submit(f"rare {by}")
        claim.join()
        assert time.monotonic() - began < SOON_S
        assert (answers[0].status_code, answers[0].json()["code"]) == (401, "token_refused")
        assert server.job(job)["status"] == "QUEUED"


def test_a_direct_request_that_waits_for_a_slot_ends(shared: Stage, server: Server) -> None:
    job = server.submit("hold", "slot")
    server.wait(job, "RUNNING")
    with short_lived(server, "the server", "submit") as (client, revoke):
        answers: list[httpx.Response] = []
        body = {"params": {"name": "never"}}
        asking = threading.Thread(
            target=lambda: answers.append(client.post("/api/direct/note", json=body))
        )
        asking.start()
        while not server.get("/api/reservations")["items"]:
            time.sleep(0.02)
        revoke()
        began = time.monotonic()
        asking.join()
        assert time.monotonic() - began < SOON_S
        assert (answers[0].status_code, answers[0].json()["code"]) == (401, "token_refused")
    shared.let_go("slot")
    server.wait(job, "SUCCEEDED")
    assert "never" not in shared.notes()


def test_a_token_that_expires_ends_what_it_has_open(server: Server) -> None:
    made = server.post("/api/tokens", name="short", role="read", expires_in_s=2)
    with (
        server.client(made["token"]) as client,
        client.stream("GET", "/api/events", headers=SSE) as answer,
    ):
        began = time.monotonic()
        assert [line for line in answer.iter_lines() if line][-1].endswith("has expired")
        assert time.monotonic() - began < 2 + SOON_S
        assert client.get("/api/jobs").status_code == 401


def test_a_server_whose_own_token_was_revoked_starts_with_a_new_one(stage: Stage) -> None:
    first = stage.serve()
    (own,) = first.get("/api/tokens")["items"]
    assert own["name"] == "admin.token"
    first.http.delete(f"/api/tokens/{own['token_id']}")
    assert first.http.get("/api/jobs").status_code == 401
    assert first.stop() == 0
    second = stage.serve()
    assert second.token != first.token
    assert second.client(first.token).get("/api/jobs").status_code == 401
    assert second.stop() == 0
    assert stage.serve().token == second.token


def test_a_token_that_another_server_revokes_ends_here_too(
    stage: Stage, empty_postgres: str
) -> None:
    one, other = (stage.serve(db=empty_postgres, data=name) for name in ("one", "other"))
    made = one.post("/api/tokens", name="short", role="read")
    with (
        other.client(made["token"]) as client,
        client.stream("GET", "/api/events", headers=SSE) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == ": connected"
        one.http.delete(f"/api/tokens/{made['token_id']}")
        began = time.monotonic()
        assert [line for line in lines if line][-1].endswith("was revoked, or has expired")
        assert time.monotonic() - began < SOON_S
        assert client.get("/api/jobs").status_code == 401
