"""Every example does what it says."""

import asyncio
import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.docs.fences import ROOT
from tests.servers import WAIT_S, Server, Stage

import headway


@pytest.fixture
def shell_worker(stage: Stage) -> Iterator[Server]:
    """A server with a shell worker that has nothing but a token for workers."""
    server = stage.serve()
    with in_shell(stage, server):
        yield server


@contextlib.contextmanager
def in_shell(stage: Stage, server: Server) -> Iterator[None]:
    """A shell worker for this server."""
    token = server.post("/api/tokens", name="shell", role="work")["token"]
    with (stage.folder / "worker.txt").open("wb") as output:
        process = subprocess.Popen(
            [str(ROOT / "examples" / "worker.sh")],
            env={**os.environ, "HEADWAY_URL": server.url, "HEADWAY_TOKEN": token},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    yield
    os.killpg(process.pid, 9)
    process.wait(WAIT_S)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the worker uses curl")
def test_the_shell_worker_does_jobs_and_says_when_it_cannot(shell_worker: Server) -> None:
    good = shell_worker.submit("greet", "Ada")
    bad = shell_worker.submit("greet", "")
    shell_worker.wait(good, "SUCCEEDED")
    shell_worker.wait(bad, "FAILED")
    assert shell_worker.get(f"/api/jobs/{good['number']}/result")["result_data"] == "Hello, Ada!"
    assert shell_worker.get(f"/api/jobs/{bad['number']}/result")["error"] == "nobody to greet"
    run = shell_worker.runs(good)[0]["run_id"]
    said = shell_worker.http.get(f"/api/job-runs/{run}/logs/stdout").text
    assert said == "Hello, Ada!\n"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the worker uses curl")
def test_the_shell_worker_does_a_step_once(stage: Stage) -> None:
    server = stage.serve()
    again = {"max_attempts": 1, "base_delay_s": 0}
    made = server.submit("greet", "Ada", retry_policy=again)
    me = {"worker_id": "earlier"}
    claimed = server.post("/api/claims", **me, job_types=["greet"], lease=True)
    lease = f"/api/leases/{claimed['jobs'][0]['lease']['lease_id']}"
    server.post(f"{lease}/steps", **me, name="greeting", index=0, result="Good evening!")
    server.post(f"{lease}/release", **me, status="FAILED", error="called away")
    with in_shell(stage, server):
        ended = server.wait(server.retry_of(made), "SUCCEEDED", "FAILED")
    assert server.get(f"/api/jobs/{ended['number']}/result")["result_data"] == "Good evening!"
    (step,) = server.get(f"/api/jobs/{ended['number']}/steps")["items"]
    assert (step["name"], step["attempt"]) == ("greeting", 0)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the worker uses curl")
@pytest.mark.parametrize(
    "name", ['"Ada", \\ "Zoë"', "two\nlines\tand $HOME `id` 'x' %s", "\\u0041"]
)
def test_the_shell_worker_takes_every_text_as_it_is(shell_worker: Server, name: str) -> None:
    made = shell_worker.submit("greet", name)
    shell_worker.wait(made, "SUCCEEDED")
    result = shell_worker.get(f"/api/jobs/{made['number']}/result")
    assert result["result_data"] == f"Hello, {name}!"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the worker uses curl")
def test_the_shell_worker_says_that_a_name_is_no_text(shell_worker: Server) -> None:
    made = shell_worker.submit("greet", params={"name": ["Ada"]})
    shell_worker.wait(made, "FAILED")
    assert shell_worker.get(f"/api/jobs/{made['number']}/result")["error"] == "nobody to greet"


def test_the_plain_script_stores_its_jobs_without_a_server(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "plain_script.py"), str(tmp_path)],
        cwd=tmp_path,
        env={name: text for name, text in os.environ.items() if "HEADWAY_" not in name},
        check=True,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    ).stdout
    assert said.splitlines() == ["job 1 is QUEUED", "job 2 is QUEUED", "job 3 is WAITING_ON_DEPS"]


def test_the_own_policy_gives_each_customer_a_limit(stage: Stage) -> None:
    (stage.folder / "own.py").write_text(
        (ROOT / "examples" / "own_concurrency_policy.py").read_text()
    )
    server = stage.serve(slots=4, concurrency_policy="own:PerCustomer")
    server.http.put("/api/limits/customer:acme", json={"size": 1})
    first = server.submit("hold", "first", queue="customer-acme")
    second = server.submit("hold", "second", queue="customer-acme")
    other = server.submit("note", "other", queue="customer-zoo")
    server.wait(first, "RUNNING")
    server.wait(other, "SUCCEEDED")
    limits = server.get(f"/api/jobs/{second['number']}/why")["gates"][6]
    assert limits["detail"] == "customer:acme: used 1 + 1 > 1"
    stage.let_go("first")
    server.wait(second, "RUNNING")
    stage.let_go("second")
    server.wait(second, "SUCCEEDED")


def test_other_queues_use_the_standard_limits_only() -> None:
    policy = importlib.import_module("examples.own_concurrency_policy").PerCustomer()
    lane = headway.Lane(queue="a", job_type="b")
    assert not any("customer" in name for name in policy.uses(lane))


def test_the_web_application_submits_and_shows_a_job(stage: Stage) -> None:
    server = stage.serve()
    web = importlib.import_module("examples.fastapi_app")
    web.app.client = headway.connect(url=server.url, token=server.token)

    async def visit() -> None:
        door = httpx.ASGITransport(web.web)
        async with httpx.AsyncClient(transport=door, base_url="http://web") as browser:
            made = await browser.post("/stories", params={"genre": "crime"})
            assert made.status_code == 202
            shown = await browser.get(f"/stories/{made.json()['job']}")
            assert shown.json() == {"status": "QUEUED", "progress": None}
            assert (await browser.get("/stories/999999")).status_code == 404
        await web.app.close_async()

    asyncio.run(visit())


@pytest.fixture
def installed_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's package as an installer would lay it out, from what it says of itself."""
    source = ROOT / "examples" / "artifact_kind"
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / "packages" / "headway_filled-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("".join(lines))
    monkeypatch.syspath_prepend(str(info.parent))
    monkeypatch.syspath_prepend(str(source))


@pytest.mark.usefixtures("installed_kind")
def test_the_artifact_kind_of_a_package_is_waited_for(tmp_path: Path) -> None:
    app = headway.App(
        settings=headway.Settings(data=str(tmp_path / "data"), workspace=str(tmp_path))
    )
    (tmp_path / "empty.csv").touch()
    (tmp_path / "full.csv").write_text("1\n")
    jobs = [
        app.submit("report", needs=[f"filled:{name}"], missing_producer="wait")
        for name in ("empty.csv", "full.csv", "../full.csv", "missing.csv")
    ]
    waits = headway.JobStatus.WAITING_ON_DEPS
    assert [job.status for job in jobs] == [waits, headway.JobStatus.QUEUED, waits, waits]
    app.close()
