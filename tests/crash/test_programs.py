"""A server is killed with SIGKILL around each commit of a program's life, on both stores.

The next server goes on where the program was: what is in its journal is not done again, and the
step whose result was not kept is.
"""

import contextlib
import signal
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.crash.test_boundaries import DIE
from tests.servers import WAIT_S, Server, Stage, wait_for

from headway.clock import SystemClock
from headway.storage.postgres.database import PostgresDatabase
from headway.storage.sqlite.database import SqliteDatabase
from headway.storage.upkeep import invariants

PROGRAM = """
from shop import app, write
import headway


def charge() -> str:
    write("charge")
    return "charged"


def thank(said: dict[str, str]) -> str:
    write("thank")
    return f"thanks to {said['by']}"


@app.job
def label(parcel: int) -> int:
    return parcel * 10


@app.job
def order(ctx: headway.JobContext) -> list[object]:
    charged = ctx.step(charge)
    ctx.sleep(0.1)
    said = ctx.wait_for("arrived", timeout="1h")
    labels = ctx.map(label, [{"parcel": number} for number in range(3)])
    return [charged, ctx.step(thank, said), labels]
"""
PATIENT = {"max_attempts": 5, "base_delay_s": 0}
TOLD = {"payload": {"by": "ann"}}
KINDS = ["step", "sleep", "signal", "children", "step"]
SETTINGS = {"data": "data", "app": "program:app", "port": 0, "grace_s": 20}
ON_POSTGRES = {
    "from headway.storage.sqlite import connection": (
        "from headway.storage.postgres import session, wire"
    ),
    "connection.SqliteConnection": "wire.WireConnection",
    "connection.SqliteSession": "session.PostgresSession",
}


class Scene:
    """A server that dies at a boundary of an order, and the one that comes after it."""

    def __init__(self, stage: Stage, db: dict[str, str], query: str, *, before: bool) -> None:
        (stage.folder / "program.py").write_text(PROGRAM)
        self.stage = stage
        self.db = db
        code = DIE.format(query=query, before=before)
        for sqlite, postgres in ON_POSTGRES.items() if db else ():
            code = code.replace(sqlite, postgres)
        self.server = Server(stage, {**SETTINGS, **db}, code)
        self.server.post("/api/queue/pause")
        self.job = self.server.submit("order", retry_policy=PATIENT)

    @property
    def path(self) -> str:
        return f"/api/jobs/{self.job['job_id']}"

    def arm(self) -> None:
        """From here on the boundary is deadly."""
        (self.stage.folder / "armed").touch()

    def start(self) -> None:
        """Let the program begin; the server may die before it answers."""
        with contextlib.suppress(httpx.TransportError):
            self.server.http.post("/api/queue/resume")

    def outlive(self) -> None:
        """Wait for the death and start another server."""
        assert self.server.process.wait(WAIT_S) == -signal.SIGKILL
        self.server = self.stage.serve(**SETTINGS, **self.db)

    def tell(self) -> None:
        """The signal comes; whoever got no answer sends it again."""
        with contextlib.suppress(httpx.TransportError):
            answer = self.server.http.post(f"{self.path}/signals/arrived", json=TOLD)
            assert answer.status_code == 202

    def wait_for_its_wait(self) -> None:
        """The program sleeps no more, and waits for its signal."""
        wait_for(lambda: self.steps() and self.steps()[-1]["kind"] == "signal", "the signal's wait")

    def steps(self) -> list[dict[str, Any]]:
        """The journal."""
        return list(self.server.get(f"{self.path}/steps")["items"])

    def check(self, *notes: str) -> None:
        """The program ended well, did these steps, and made its children once."""
        result = wait_for(self._result, "the end of the program")
        assert result["status"] == "SUCCEEDED", result["error"]
        assert result["result_data"] == ["charged", "thanks to ann", [0, 10, 20]]
        assert self.stage.notes() == list(notes)
        labels = self.server.get("/api/jobs", job_type="label")["items"]
        made = {one["chain_id"]: one["params"]["parcel"] for one in labels}  # some were retried
        assert sorted(made.values()) == [0, 1, 2]
        assert [one["kind"] for one in self.steps()] == KINDS
        assert self.server.stop() == 0
        file = self.server.data / "headway.db"
        kind = PostgresDatabase(self.db["db"], SystemClock()) if self.db else None
        database = kind or SqliteDatabase(file, SystemClock())
        with database.reading() as tx:
            assert invariants.broken(tx) == []
        database.close()

    def _result(self) -> Any:
        answer = self.server.http.get(f"{self.path}/result")
        return answer.json() if answer.status_code == 200 else None


def play_step(scene: Scene, *, before: bool) -> None:
    """A step that has run and is not in the journal runs again; one that is does not."""
    scene.arm()
    scene.start()
    scene.outlive()
    scene.tell()
    scene.check(*(["charge"] * (2 if before else 1)), "thank")


def play_sleep(scene: Scene, *, before: bool) -> None:
    """A run that was killed while it suspended goes on behind its steps."""
    scene.arm()
    scene.start()
    scene.outlive()
    scene.tell()
    scene.check("charge", "thank")


def play_early_signal(scene: Scene, *, before: bool) -> None:
    """A signal that has come is taken once: it is still there, or in the journal."""
    scene.tell()
    scene.arm()
    scene.start()
    scene.outlive()
    scene.check("charge", "thank")


def play_signal(scene: Scene, *, before: bool) -> None:
    """A signal for a job that waits wakes it, or can be sent again."""
    scene.start()
    scene.wait_for_its_wait()
    scene.arm()
    scene.tell()
    scene.outlive()
    if before:
        scene.tell()
    scene.check("charge", "thank")


def play_children(scene: Scene, *, before: bool) -> None:
    """Children are made together with the wait for them: all of them once."""
    scene.start()
    scene.wait_for_its_wait()
    scene.arm()
    scene.tell()
    scene.outlive()
    scene.check("charge", "thank")


BOUNDARIES: dict[str, tuple[str, Callable[..., None]]] = {
    "step": ("has_journal", play_step),
    "sleep": ("suspend_job", play_sleep),
    "signal that was kept": ("take_signal", play_early_signal),
    "signal that is waited for": ("end_waits", play_signal),
    "children": ("insert_dependency", play_children),
    "end of the wait for children": ("forget_children", play_children),
}
"""What is committed, the query that such a commit contains, and what is played around it."""


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a server on each store."""
    if request.param == "sqlite":
        return {}
    fresh: Callable[[], str] = request.getfixturevalue("fresh_database")
    return {"db": fresh()}


@pytest.mark.parametrize("before", [True, False], ids=["before the commit", "after the commit"])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_program_goes_on_when_its_server_is_killed_at_a_boundary(
    stage: Stage, db: dict[str, str], boundary: str, before: bool
) -> None:
    query, play = BOUNDARIES[boundary]
    play(Scene(stage, db, query, before=before), before=before)
