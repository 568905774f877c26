"""A test bed: a store, a scheduler and a worker in this process, as a server would have them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import postgres
from bench.handlers import app
from headway import collector, local_wiring, worker_wiring
from headway.client.client import Client
from headway.operations.local import LocalTransport as ClientTransport
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep.timekeeper import Timekeeper
from headway.settings import Settings
from headway.worker.local import LocalTransport
from headway.worker.loop import Worker
from headway.worker.pool.pool import HandlerPool


@contextmanager
def bed(
    db: str | None = None,
    capacity: int | None = 1_000_000,
    *,
    fresh: bool = True,
    parent: Path | None = None,
) -> Iterator[Scheduler]:
    """A scheduler on a fresh store below a folder, or on one that another process has filled."""
    if db is not None and fresh:
        with postgres.database(db) as url, bed(url, capacity, fresh=False) as scheduler:
            yield scheduler
        return
    with tempfile.TemporaryDirectory(prefix="headway-bench-", dir=parent) as folder:
        settings = Settings(data=str(Path(folder) / "data"), db=db, workspace=folder)
        store = local_wiring.open_store(settings)
        scheduler = local_wiring.build_scheduler(settings, store, app)
        if capacity is not None:
            store.write(lambda tx: tx.do("put_limit", name="capacity", size=capacity, rate=None))
        app.client = Client(ClientTransport(scheduler))
        collector.calm()
        try:
            yield scheduler
        finally:
            store.close()


@contextmanager
def handlers(slots: int) -> Iterator[HandlerPool]:
    """The process in which handlers run, once it is ready."""
    pool = worker_wiring.handler_pool(Settings(slots=slots, app="bench.handlers:app"), app)
    assert pool is not None
    pool.open()
    try:
        pool.wait_until_ready()
        yield pool
    finally:
        pool.close()


@contextmanager
def working(scheduler: Scheduler, slots: int, pool: HandlerPool | None = None) -> Iterator[Worker]:
    """The built-in worker and the timekeeper; without a pool it gets one of its own."""
    if pool is None:
        with handlers(slots) as pool, working(scheduler, slots, pool) as worker:
            yield worker
        return
    settings = Settings(data=str(scheduler.data), slots=slots)
    me = worker_wiring.registration(
        settings, list(scheduler.handlers), prefix="bench", every_queue=True
    )
    executors = worker_wiring.executors(
        scheduler.handlers, slots, scheduler.workspace, 1 << 20, scheduler.output, pool=pool
    )
    worker = Worker(LocalTransport(scheduler, me), executors, slots=slots, data=scheduler.data)
    timekeeper = Timekeeper(scheduler)
    timekeeper.start()
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(10)
        timekeeper.stop()
