"""Events as they happen, and logs as they grow."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from tests.servers import Server, Stage

from headway.http.exchange import ClientGone, Exchange

SSE = {"accept": "text/event-stream"}


def read_events(answer: httpx.Response) -> Iterator[Any]:
    """Server-sent events, as their data."""
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_a_stream_goes_on_where_another_ended(server: Server) -> None:
    for name in ("one", "two"):
        server.wait(server.submit("note", name), "SUCCEEDED")
    everything = server.get("/api/events", limit=200)["items"]
    middle = everything[len(everything) // 2]["seq"]
    headers = {**SSE, "last-event-id": str(middle)}
    with server.http.stream("GET", "/api/events", headers=headers) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        wanted = [event["seq"] for event in everything if event["seq"] > middle]
        events = read_events(answer)
        assert [next(events)["seq"] for _ in wanted] == wanted
        job = server.submit("note", "three")
        live = next(events)
        assert live["job_id"] == job["job_id"]
        assert live["seq"] > wanted[-1]


def test_a_stream_without_a_place_starts_now(server: Server) -> None:
    server.wait(server.submit("note", "before"), "SUCCEEDED")
    with server.http.stream("GET", "/api/events", headers=SSE) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith(":")
        job = server.submit("note", "after")
        data = next(line for line in lines if line.startswith("data: "))
        assert json.loads(data.removeprefix("data: "))["job_id"] == job["job_id"]


def test_a_place_that_is_no_number_is_refused(server: Server) -> None:
    for place in ("x", "-1", "1" * 30):
        answer = server.http.get("/api/events", headers={**SSE, "last-event-id": place})
        assert answer.status_code == 422


def test_a_log_is_shown_as_it_grows(shared: Stage, server: Server) -> None:
    job = server.submit("talk", "stream")
    server.wait(job, "RUNNING")
    path = f"/api/job-runs/{server.runs(job)[0]['run_id']}/logs/stdout"
    with server.http.stream("GET", path, params={"follow": "true"}) as answer:
        assert "gzip" in server.http.headers["accept-encoding"]
        lines = answer.iter_lines()
        assert next(lines) == "hello stream"
        shared.let_go("stream")
        assert list(lines) == ["bye stream"]
    assert server.http.get(path).text == "hello stream\nbye stream\n"


def test_a_jobs_log_is_that_of_its_last_run(server: Server) -> None:
    waiting = server.submit("note", "later", delay_s=3600)
    answer = server.http.get(f"/api/jobs/{waiting['number']}/logs/stdout")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    job = server.submit("say", params={"lines": 2})
    server.wait(job, "SUCCEEDED")
    run_id = server.runs(job)[0]["run_id"]
    path = f"/api/jobs/{job['number']}/logs/stdout"
    assert server.http.get(path).text == server.http.get(f"/api/job-runs/{run_id}/logs/stdout").text
    assert server.http.get(path, params={"tail": 1, "follow": "true"}).text == "line 1\n"
    server.post(f"/api/jobs/{job['number']}/retry", force=True)
    server.wait(job, "SUCCEEDED")
    assert len(server.runs(job)) == 2
    assert server.http.get(path).text.count("\n") == 2


def test_a_job_that_was_rewound_has_no_log_until_it_runs_again(server: Server) -> None:
    job = server.submit("say", params={"lines": 2}, queue="rewound")
    server.wait(job, "SUCCEEDED")
    run = server.runs(job)[0]["run_id"]
    server.post("/api/queue/pause", queue="rewound")
    server.post(f"/api/jobs/{job['number']}/retry", force=True)
    answer = server.http.get(f"/api/jobs/{job['number']}/logs/stdout")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert server.http.get(f"/api/job-runs/{run}/logs/stdout").text == "line 0\nline 1\n"


def test_a_large_answer_is_compressed_and_small_ones_are_not(server: Server) -> None:
    server.submit("note", "x", params={"name": "x" * 5000})
    assert server.http.get("/api/jobs").headers["content-encoding"] == "gzip"
    assert "content-encoding" not in server.http.get("/healthz").headers


def test_a_stream_ends_when_its_reader_has_left() -> None:
    closed = []

    async def parts() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        """The reader has left: nobody notices that here."""

    async def read() -> None:
        scope = {"method": "GET", "raw_path": b"/", "headers": [], "query_string": b""}
        ended = asyncio.get_running_loop().create_future()
        with pytest.raises(ClientGone):
            await Exchange(scope, receive, send).stream(b"text/plain", parts(), ended)
        await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(read(), 30))
    assert closed == [True]


def test_a_stream_with_an_interval_only_says_that_something_happened(server: Server) -> None:
    headers = {"accept": "text/event-stream"}
    with server.http.stream("GET", "/api/events?every_ms=200", headers=headers) as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": connected"
        jobs = [server.submit("note", name=f"tick {n}") for n in range(20)]
        server.wait(jobs[-1], "SUCCEEDED")
        last = server.get("/api/events", last=1)["items"][0]["seq"]
        ticks = 0
        for line in lines:
            ticks += line == "event: events.tick"
            if line.startswith("id: ") and int(line[4:]) >= last:
                break
    assert ticks < len(jobs)


@pytest.mark.parametrize("every_ms", ["0", "99", "60001", "x", "1e3", ""])
def test_an_interval_is_refused_that_is_no_time(server: Server, every_ms: str) -> None:
    headers = {"accept": "text/event-stream"}
    answer = server.http.get("/api/events", params={"every_ms": every_ms}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert "every_ms" in answer.json()["detail"]
