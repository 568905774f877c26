"""A handler submits children to the scheduler that gave it its job, wherever it runs."""

from typing import Any

import pytest
from tests.servers import Server, Stage

FAMILY = """
import headway

app = headway.App()


@app.job
def child(name: str) -> str:
    return f"{name} is here"


@app.job(retries=0)
def threaded(name: str) -> str:
    return child.submit(name=name).result(timeout=20)


@app.job(retries=0, isolation="process")
def isolated(name: str) -> list[str]:
    with app.pipeline() as flow:
        first = flow.add(child, name=name)
        flow.add(child.options(after=first), name=name)
    return [one.result(timeout=20) for one in flow.handles]


@app.job(retries=0)
async def awaited(name: str) -> str:
    return await (await child.submit_async(name=name)).result_async(timeout=20)
"""
RESULTS = {"threaded": "a is here", "isolated": ["a is here", "a is here"], "awaited": "a is here"}


@pytest.fixture
def family(stage: Stage) -> Stage:
    (stage.folder / "family.py").write_text(FAMILY)
    return stage


def check(server: Server) -> None:
    for job_type, expected in RESULTS.items():
        job = server.submit(job_type, "a")
        ended = server.wait(job, "SUCCEEDED", "FAILED")
        assert ended["status"] == "SUCCEEDED", ended["error"]
        result = server.get(f"/api/jobs/{job['job_id']}/result")["result_data"]
        assert result == expected
    jobs: list[Any] = server.get("/api/jobs")["items"]
    parents = {one["job_id"] for one in jobs if one["job_type"] != "child"}
    assert {one["parent_id"] for one in jobs if one["job_type"] == "child"} == parents


def test_on_a_worker_with_a_token_that_may_only_work(family: Stage) -> None:
    server = family.serve(app=None)
    token = server.post("/api/tokens", name="w", role="work")["token"]
    family.work(server, app="family:app", token=token, slots=2)
    check(server)


def test_in_a_server_whose_data_are_elsewhere(family: Stage) -> None:
    check(family.serve(app="family:app", slots=2))
    assert not (family.folder / ".headway").exists()
