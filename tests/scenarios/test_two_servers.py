"""Two servers on one PostgreSQL, each with a data directory of its own."""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx
import pytest
from tests.servers import Server, Stage, wait_for

from headway import local_wiring
from headway.domain import errors
from headway.settings import Settings


class Pair:
    """One server that runs jobs, and one that is asked about them."""

    def __init__(self, stage: Stage, url: str) -> None:
        self.stage = stage
        self.url = url
        self.runner = stage.serve(db=url, data="first")
        self.asked = self.also("second")

    def also(self, data: str, **settings: Any) -> Server:
        """Another server on the same database, whose worker rests."""
        server = self.stage.serve(db=self.url, data=data, app=None, **settings)
        for worker in server.get("/api/workers")["items"]:
            if worker["built_in"] and "note" not in worker["job_types"]:
                server.post(f"/api/workers/{worker['worker_id']}/drain")
        return server


@pytest.fixture(scope="module")
def pair(shared: Stage, fresh_database: Callable[[], str]) -> Pair:
    """Servers for the tests that leave them as they are."""
    return Pair(shared, fresh_database())


def log(server: Server, job: Any, stream: str = "stdout", **query: Any) -> httpx.Response:
    run = server.get(f"/api/jobs/{job['job_id']}")["run_id"]
    return server.http.get(f"/api/job-runs/{run}/logs/{stream}", params=query)


def test_output_is_fetched_from_the_server_that_has_it(pair: Pair) -> None:
    job = pair.asked.submit("say", params={"lines": 3})
    pair.asked.wait(job, "SUCCEEDED")
    for server in (pair.runner, pair.asked):
        assert log(server, job).text == "line 0\nline 1\nline 2\n"
        assert log(server, job, tail=1).text == "line 2\n"
        assert server.http.get(f"/api/jobs/{job['job_id']}/logs/stdout").text.startswith("line 0")
        nothing = log(server, job, "stderr")
        assert (nothing.status_code, nothing.text) == (200, "")
        assert log(server, job, tail="x").status_code == 422


def test_output_is_followed_from_the_other_server(pair: Pair) -> None:
    job = pair.asked.submit("talk", "a")
    run = wait_for(lambda: pair.asked.job(job)["run_id"], "the run")
    parts: list[str] = []

    def follow() -> None:
        path = f"/api/job-runs/{run}/logs/stdout"
        with pair.asked.http.stream("GET", path, params={"follow": "true"}) as answer:
            parts.extend(answer.iter_text())

    reader = threading.Thread(target=follow)
    reader.start()
    wait_for(lambda: "hello a\n" in "".join(parts), "the first line")
    pair.stage.let_go("a")
    reader.join()
    assert "".join(parts) == "hello a\nbye a\n"


def test_a_token_that_may_not_read_is_not_handed_on(pair: Pair) -> None:
    job = pair.asked.submit("say", params={"lines": 1})
    pair.asked.wait(job, "SUCCEEDED")
    token = pair.asked.post("/api/tokens", name="w", role="work")["token"]
    with pair.asked.client(token) as worker:
        assert worker.get(f"/api/jobs/{job['job_id']}/logs/stdout").status_code == 403


def test_output_of_a_server_that_is_gone_is_said_to_be_there(
    stage: Stage, fresh_database: Callable[[], str]
) -> None:
    pair = Pair(stage, fresh_database())
    job = pair.asked.submit("say", params={"lines": 1})
    pair.asked.wait(job, "SUCCEEDED")
    pair.runner.stop()
    queries: tuple[dict[str, Any], ...] = ({}, {"tail": 1}, {"follow": "true"})
    for query in queries:
        assert_elsewhere(log(pair.asked, job, **query), stage)
    again = pair.also("first")
    assert log(again, job).text == "line 0\n"
    assert log(pair.asked, job).text == "line 0\n"
    again.kill()
    assert_elsewhere(log(pair.asked, job), stage)


def assert_elsewhere(answer: httpx.Response, stage: Stage) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "output_elsewhere")
    assert str(stage.folder / "first") in answer.json()["detail"]


def test_output_of_a_worker_elsewhere_is_where_it_was_sent(pair: Pair) -> None:
    stage = pair.stage
    stage.work(pair.runner, capabilities=["far"])
    job = pair.asked.submit("say", params={"lines": 2}, requires=["far"])
    pair.asked.wait(job, "SUCCEEDED")
    assert log(pair.asked, job).text == "line 0\nline 1\n"
    assert not (stage.folder / "second" / "logs").exists()


def test_a_command_line_elsewhere_says_where_the_output_is(pair: Pair) -> None:
    job = pair.asked.submit("say", params={"lines": 1})
    run = pair.asked.wait(job, "SUCCEEDED")["run_id"]
    settings = Settings(db=pair.url, data=str(pair.stage.folder / "third"))
    with (
        closing(local_wiring.local_client(settings)) as client,
        pytest.raises(errors.OutputElsewhere, match="first"),
    ):
        list(client.log(run))
