"""Long polls for claims when the server stops."""

import asyncio
from pathlib import Path

import pytest

from headway.clock import SystemClock
from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role
from headway.http.claim_polls import ClaimPolls
from headway.protocol.work_shapes import ClaimBody, ReleaseItem
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase
from headway.workspace import Workspace


def test_reports_that_were_not_delivered_get_an_error_at_the_stop(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "headway.db", SystemClock(), durable=False)
    database.migrate()
    store = Store(database)
    scheduler = Scheduler(
        store=store, clock=SystemClock(), workspace=Workspace(tmp_path), data=tmp_path
    )
    report = ReleaseItem(lease_id="lease-1", status="COMPLETED")
    body = ClaimBody(worker_id="w", releases=(report,))

    async def claim_while_it_stops() -> None:
        polls = ClaimPolls(scheduler)
        ended = asyncio.get_running_loop().create_future()
        claim = asyncio.create_task(polls.claim(Principal(name="w", role=Role.WORK), body, ended))
        await asyncio.sleep(0)  # the claim is waiting, and was not served yet
        await polls.stop()
        await claim

    with pytest.raises(errors.Stopping):
        asyncio.run(claim_while_it_stops())
    store.close()
