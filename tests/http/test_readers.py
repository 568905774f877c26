"""Long reads have threads of their own: whatever else a server does goes on beside them."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from headway.clock import SystemClock
from headway.domain.manage.tokens import Role
from headway.http.application import Application, ServerState
from headway.operations import dispatch
from headway.scheduler.manage import tokens
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase
from headway.workspace import Workspace

MANY = 50
"""More than any pool of threads has."""

PATIENCE_S = 20


async def call(application: Application, method: str, path: str, token: str, body: bytes) -> int:
    """The status of an answer."""
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
    }
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await application(scope, receive, send)
    return statuses[0]


def token_for(scheduler: Scheduler, role: Role) -> str:
    """A new token."""
    made = scheduler.store.write(lambda tx: tokens.create(scheduler, tx, role.value, role))
    assert made.token is not None
    return made.token


def test_many_long_reads_keep_no_submit_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = SqliteDatabase(tmp_path / "headway.db", SystemClock(), durable=False)
    database.migrate()
    store = Store(database)
    scheduler = Scheduler(
        store=store, clock=SystemClock(), workspace=Workspace(tmp_path), data=tmp_path
    )
    reader, writer = (token_for(scheduler, role) for role in (Role.READ, Role.SUBMIT))
    reading, go_on = threading.Event(), threading.Event()
    perform = dispatch.perform

    def slowly(*args: Any) -> Any:
        if args[2].operation.method == "GET":
            reading.set()
            assert go_on.wait(PATIENCE_S)
        return perform(*args)

    monkeypatch.setattr(dispatch, "perform", slowly)

    async def submit_beside_reads() -> tuple[int, list[int]]:
        application = Application(scheduler, worker=None, state=ServerState(ready=True))
        go_on.set()
        await call(application, "GET", "/api/graph", reader, b"")  # its token is known now
        go_on.clear()
        reading.clear()
        graphs = [
            asyncio.create_task(call(application, "GET", "/api/graph", reader, b""))
            for _ in range(MANY)
        ]
        try:
            while not reading.is_set():
                await asyncio.sleep(0)
            submit = call(application, "POST", "/api/jobs", writer, b'{"job_type": "story"}')
            submitted = await asyncio.wait_for(submit, PATIENCE_S / 2)
        finally:
            go_on.set()
        return submitted, await asyncio.gather(*graphs)

    assert asyncio.run(submit_beside_reads()) == (201, [200] * MANY)
    store.close()
