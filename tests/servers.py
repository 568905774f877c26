"""Real servers and workers, each a process of its own, on a folder that a test may look into."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

WAIT_S = 30.0

APP = """
import os
import time
from pathlib import Path

import headway

app = headway.App()


def write(line):
    handle = os.open("notes.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\\n".encode())
    os.close(handle)


@app.job
def note(name: str) -> str:
    write(name)
    return name


@app.job
def hold(name: str) -> str:
    write(name)
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)
    return f"{name} went"


@app.job
def step(ctx: headway.JobContext, name: str) -> None:
    write(name)
    ctx.progress(0.5, "half")
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)


@app.job
def fail(name: str) -> None:
    write(name)
    raise RuntimeError(f"{name} does not work")


@app.job
def flaky(ctx: headway.JobContext, name: str) -> str:
    write(f"{name} {ctx.attempt}")
    if ctx.attempt < 2:
        raise RuntimeError("not yet")
    return f"worked at attempt {ctx.attempt}"


@app.job
def say(lines: int) -> None:
    for line in range(lines):
        print(f"line {line}", flush=True)


@app.job
def talk(name: str) -> None:
    print(f"hello {name}", flush=True)
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)
    print(f"bye {name}", flush=True)


@app.job
def swell(size: int) -> str:
    return "x" * size
"""

SERVE = (
    "import sys, json; from headway import settings; from headway.cli import serve; "
    "serve.serve(settings.load(json.loads(sys.argv[1])), json=True)"
)
WORK = (
    "import sys, json; from headway import settings; from headway.cli import work; "
    "work.work(settings.load(json.loads(sys.argv[1])))"
)

Value = TypeVar("Value")


def wait_for(look: Callable[[], Value | None], what: str) -> Value:
    """Look until there is something to see."""
    give_up = time.monotonic() + WAIT_S
    while time.monotonic() < give_up:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {WAIT_S:g} s in vain for {what}")


class Process:
    """A process that a test started."""

    def __init__(self, stage: "Stage", code: str, settings: dict[str, Any]) -> None:
        folder = stage.folder
        log = folder / f"{time.monotonic_ns()}.log"
        self._log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, json.dumps(settings)],
                cwd=folder,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"},
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        stage.processes.append(self)
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        assert self.first_line, f"it did not start: {self.log}"

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    @property
    def log(self) -> str:
        """What it wrote to its log."""
        return self._log.read_text()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send(signal.SIGKILL)
        self.process.wait(WAIT_S)

    def kill_beside(self, pid: int) -> None:
        """End it together with a process that it started."""
        self.send(signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        self.kill()

    def stop(self) -> int:
        """Ask it to end; answers its exit code."""
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGABRT)  # shows what every thread was doing
            self.process.wait(WAIT_S)
            raise AssertionError(f"it did not stop: {self.log}") from None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.process.poll() is None:
            os.kill(self.pid, number)

    def close(self) -> None:
        """Make sure that it is gone, even if it was stopped."""
        self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Server(Process):
    """A running `headway serve`, and the calls that tests make."""

    def __init__(self, stage: "Stage", settings: dict[str, Any], before: str = "") -> None:
        super().__init__(stage, before + SERVE, settings)
        self.url: str = json.loads(self.first_line)["url"]
        self.data = stage.folder / settings["data"]
        self.token = (self.data / "admin.token").read_text().strip()
        self.http = self.client(self.token)
        wait_for(lambda: self.http.get("/readyz").status_code == 200, "a server that is ready")

    def client(self, token: str | None = None) -> httpx.Client:
        """A client with a token of its own."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=WAIT_S)

    def get(self, path: str, **params: Any) -> Any:
        """What is at a path."""
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> Any:
        """What a request that must succeed is answered with."""
        answer = self.http.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def submit(self, job_type: str, name: str | None = None, **fields: Any) -> Any:
        """Submit a job that is not tried again unless it says so."""
        fields.setdefault("retry_policy", {"max_attempts": 0})
        if name is not None:
            fields["params"] = {"name": name}
        return self.post("/api/jobs", job_type=job_type, **fields)

    def job(self, job: Any) -> Any:
        """A job as it is now."""
        return self.get(f"/api/jobs/{job['job_id']}")

    def wait(self, job: Any, *statuses: str) -> Any:
        """A job once it has one of these statuses."""

        def look() -> Any:
            found = self.job(job)
            return found if found["status"] in statuses else None

        return wait_for(look, f"job {job['number']} to become {' or '.join(statuses)}")

    def retry_of(self, job: Any) -> Any:
        """The job that tries this one again, once it is there."""

        def look() -> Any:
            found = self.get("/api/jobs", limit=200)["items"]
            return next((one for one in found if one["retry_of"] == job["job_id"]), None)

        return wait_for(look, f"a retry of job {job['number']}")

    def runs(self, job: Any) -> list[Any]:
        """A job's runs, newest first."""
        return list(self.get(f"/api/jobs/{job['job_id']}/runs")["items"])


class Stage:
    """A folder with an app in it, and every process that was started there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "shop.py").write_text(APP)
        self.processes: list[Process] = []

    def serve(self, **settings: Any) -> Server:
        """Start a server."""
        chosen = {"data": "data", "app": "shop:app", "port": 0, "grace_s": 20, **settings}
        return Server(self, chosen)

    def work(self, server: Server, **settings: Any) -> Process:
        """Start a worker for a server."""
        chosen = {"url": server.url, "token": server.token, "app": "shop:app", "data": "worker"}
        return Process(self, WORK, {**chosen, **settings})

    def let_go(self, name: str) -> None:
        """The job that holds under this name may end."""
        (self.folder / f"{name}.go").touch()

    def notes(self) -> list[str]:
        """What jobs wrote down, in order."""
        file = self.folder / "notes.txt"
        return file.read_text().split("\n")[:-1] if file.exists() else []

    def wait_for_note(self, name: str) -> None:
        """Wait until a job has written this down."""
        wait_for(lambda: name in self.notes(), f"the note {name}")

    def close(self) -> None:
        """End every process."""
        for process in self.processes:
            process.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """An empty stage for one test."""
    made = Stage(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage for the tests of a file."""
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(shared: Stage) -> Server:
    """A server for the tests of a file."""
    return shared.serve()
