"""However many streams and long polls are open, there is room for other requests."""

import asyncio
import contextlib
from typing import Any

import httpx
import pytest
from tests.servers import Server, Stage, wait_for

from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role
from headway.http.open_requests import Lasts, OpenRequests

CONNECTIONS = 32
SSE = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def small(shared: Stage) -> Server:
    return shared.serve(max_connections=CONNECTIONS)


def client(server: Server, role: str, name: str) -> httpx.Client:
    made = server.post("/api/tokens", name=name, role=role)
    return server.client(made["token"])


def problem(refused: httpx.Response) -> Any:
    refused.read()
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    return refused.json()


def open_streams(stack: contextlib.ExitStack, http: httpx.Client, count: int) -> list[Any]:
    return [
        stack.enter_context(http.stream("GET", "/api/events", headers=SSE)) for _ in range(count)
    ]


def test_a_token_has_a_quarter_of_the_connections_for_streams(small: Server) -> None:
    first, second, third = (client(small, "read", name) for name in ("one", "two", "three"))
    with contextlib.ExitStack() as stack:
        for http in (first, second, third):
            stack.enter_context(http)
        opened = open_streams(stack, first, CONNECTIONS // 4 + 1)
        assert [one.status_code for one in opened] == [200] * (CONNECTIONS // 4) + [503]
        assert opened[-1].headers["retry-after"] == "5"
        assert "this token has 8 streams" in problem(opened[-1])["detail"]

        others = open_streams(stack, second, CONNECTIONS // 4)
        assert [one.status_code for one in others] == [200] * (CONNECTIONS // 4)
        (refused,) = open_streams(stack, third, 1)
        assert "16 streams and followed logs are open" in problem(refused)["detail"]
        for _ in range(CONNECTIONS):
            assert small.client().get("/readyz").status_code == 200
        small.submit("note", "beside the streams")

        opened[0].close()
        wait_for(lambda: open_streams(stack, first, 1)[0].status_code == 200, "a free place")


def test_claims_wait_in_three_quarters_and_leave_the_rest() -> None:
    async def play() -> None:
        scheduler: Any = None
        requests = OpenRequests(scheduler, CONNECTIONS)
        worker = Principal(name="worker", role=Role.WORK, token_id="t")
        with contextlib.ExitStack() as stack:
            for _ in range(CONNECTIONS * 3 // 4):
                stack.enter_context(requests.lasting(worker, Lasts.CLAIM))
            for lasts in (Lasts.CLAIM, Lasts.STREAM):
                with pytest.raises(errors.Busy), requests.lasting(worker, lasts):
                    pass
            stack.enter_context(requests.lasting(worker, Lasts.NOT))
        with requests.lasting(worker, Lasts.STREAM):
            pass

    asyncio.run(play())
