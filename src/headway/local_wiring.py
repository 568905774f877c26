"""The composition root of what works on the database itself: a store, a scheduler, a local client.

Only entry points import it: a client of a server needs nothing of it.
"""

import logging
import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import wiring
from headway.client.client import Client
from headway.clock import SystemClock
from headway.domain import artifacts, errors
from headway.domain.jobs import Job
from headway.domain.requests.job_requests import BatchJobRequest
from headway.domain.values import moments
from headway.files import data_id
from headway.files.log_parts import OutputBound
from headway.operations.local import LocalTransport, local_principal
from headway.protocol.work_values import StepAnswer, StepReport
from headway.scheduler.programs import steps
from headway.scheduler.scheduler import Rules, Scheduler
from headway.scheduler.submit import submit
from headway.scheduler.submit.submit import Submission
from headway.settings import Settings
from headway.storage import leases
from headway.storage.engine.store import Clock, Database, Store
from headway.storage.engine.transaction import Borrowed, Transaction
from headway.storage.manage.workers import WorkerRecord
from headway.worker import process_groups
from headway.workspace import Workspace, plugins

if TYPE_CHECKING:
    from headway.client.app import App

log = logging.getLogger(__name__)


def open_database(url: str, clock: Clock, *, durable: bool = True) -> Database:
    """The database behind a URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        from headway.storage.sqlite.database import SqliteDatabase

        return SqliteDatabase(Path(rest[1:]), clock, durable=durable)
    if scheme in ("postgresql", "postgres"):
        try:
            from headway.storage.postgres.clock import SharedClock
            from headway.storage.postgres.database import PostgresDatabase
        except ImportError as error:
            raise errors.Unavailable(
                f"PostgreSQL needs: pip install 'headway[postgres]' ({error})"
            ) from None
        return PostgresDatabase(url, SharedClock(clock))
    # What was given is not repeated: it may hold a password.
    raise errors.InvalidRequest("db", "is neither sqlite:///FILE nor postgresql://…")


def copy_database(database: Database, target: Path, progress: Callable[[int, int], None]) -> None:
    """Copy everything, as it is at one moment, to a SQLite file; the database may be in use."""
    from headway.storage.engine import move
    from headway.storage.sqlite.database import SqliteDatabase

    if isinstance(database, SqliteDatabase):
        database.backup(target, progress)
        return
    database.check()
    copy = SqliteDatabase(target, SystemClock())
    copy.migrate()
    tables = list(move.KEYS)
    move.snapshot(database, copy, lambda table, _: progress(tables.index(table), len(tables)))


def damage_of_file(file: Path) -> list[str]:
    """What is wrong with a SQLite file that was just written."""
    from headway.storage.sqlite.database import SqliteDatabase

    return SqliteDatabase(file, SystemClock()).damage()


def open_store(settings: Settings, *, migrates: bool = False) -> Store:
    """The store. An older schema is refused, unless the caller migrates; a new one is made."""
    wiring.prepare_data(settings)
    database = open_database(settings.database_url, SystemClock())
    database.check()
    pending = database.pending_migrations()
    if pending and not migrates and not database.is_new():
        pending = database.pending_migrations()  # it was new, and another process has just made it
        if pending:
            raise errors.OutdatedSchema(pending)
    if pending:
        database.migrate()
    return Store(database)


def build_scheduler(settings: Settings, store: Store, app: "App | None" = None) -> Scheduler:
    """A scheduler on a store, with the app's handlers and the user's plug-ins."""
    found = plugins.load()
    for kind, problem in found.problems.items():
        log.warning("artifact kind %r: %s", kind, problem)
    chosen: dict[str, Any] = {}
    if reference := settings.concurrency_policy:
        chosen["concurrency"] = _plug_in(reference, "concurrency_policy", "uses")
    if reference := settings.group_failure_policy:
        chosen["group_failure"] = _plug_in(reference, "group_failure_policy", "on_member_failed")
    return Scheduler(
        store=store,
        clock=store.database.clock,
        workspace=Workspace(Path(settings.workspace).resolve(), found.checks),
        data=settings.data_dir.resolve(),
        data_id=data_id.read(settings.data_dir),
        rules=Rules(
            lease_ttl_s=settings.lease_ttl_s,
            claim_ttl_s=settings.claim_ttl_s,
            starvation_s=settings.starvation_s,
            probe_every_s=settings.probe_every_s,
            largest_params=settings.largest_body,
            largest_result=settings.largest_body,
            largest_batch=settings.largest_batch,
            allow_commands=settings.allow_commands,
            webhook_targets=settings.webhook_targets,
            retention_s=settings.retention_s,
            secret_params=settings.secret_params,
        ),
        output=OutputBound(settings.largest_output, settings.disk_reserve),
        handlers=app.handlers if app else {},
        defaults=app.defaults if app else {},
        kinds=artifacts.kinds(found.checks, broken=found.problems),
        is_process_alive=process_groups.is_worker_alive,
        **chosen,
    )


def _plug_in(reference: str, setting: str, method: str) -> Any:
    """An object named `module:name` that has this method; a class is called to make one."""
    found = wiring.named(reference, setting)
    made = found() if isinstance(found, type) else found
    if not callable(getattr(made, method, None)):
        raise errors.InvalidRequest(setting, f"{reference} has no method {method!r}")
    return made


def local_client(settings: Settings, app: "App | None" = None) -> Client:
    """A client that works straight on the database."""
    return Client(LocalTransport(build_scheduler(settings, open_store(settings), app)))


def scheduler_of(client: Client) -> Scheduler:
    """The scheduler behind a client that works straight on the database."""
    transport = client.transport
    assert isinstance(transport, LocalTransport)
    return transport.scheduler


def is_alive(worker: WorkerRecord) -> bool:
    """Whether a worker's process is there; one on another machine is never called dead."""
    return process_groups.is_worker_alive(worker.host, worker.pid, worker.process_started)


def submit_on(app: "App", connection: Any, request: BatchJobRequest) -> Job:
    """Submit in the transaction of a connection the caller owns."""
    scheduler = _detached(app)
    borrowed, tx = _borrowed_transaction(scheduler, connection)
    submission = Submission(scheduler=scheduler, request=request, by=local_principal())
    (receipt,) = submit.submit_each(tx, [submission])
    tx.write_notes()
    borrowed.tell(tx.wakes)
    return receipt.job


def record_step_on(app: "App", connection: Any, report: StepReport) -> StepAnswer:
    """Record a step in the transaction of a connection the caller owns, and commit it."""
    scheduler = _detached(app)
    borrowed, tx = _borrowed_transaction(scheduler, connection)
    held = leases.live(tx, [report.lease_id])
    if not held:
        return StepAnswer(
            lease_id=report.lease_id, error=errors.LeaseEnded(report.lease_id, "over")
        )
    (answer,) = steps.record(tx, held[report.lease_id].worker_id, [report])
    if answer.error is None:
        tx.write_notes()
        borrowed.tell(tx.wakes)
        connection.commit()
    return answer


def _borrowed_transaction(scheduler: Scheduler, connection: Any) -> tuple[Borrowed, Transaction]:
    borrowed = _borrow(connection)
    return borrowed, Transaction(borrowed, moments.cut(scheduler.clock.now()))


def _borrow(connection: Any) -> Borrowed:
    if isinstance(connection, sqlite3.Connection):
        from headway.storage.sqlite.connection import SqliteConnection

        return SqliteConnection(connection)
    if type(connection).__module__.startswith("psycopg"):
        from headway.storage.postgres.connection import BorrowedConnection

        return BorrowedConnection(connection)
    raise TypeError(f"this takes a sqlite3 or psycopg connection, not {type(connection).__name__}")


def _detached(app: "App") -> Scheduler:
    """A scheduler for verbs that run in a caller's transaction."""
    transport = app.client.transport
    if isinstance(transport, LocalTransport):
        return transport.scheduler
    if app not in _DETACHED:
        _DETACHED[app] = build_scheduler(app.settings, open_store(app.settings), app)
    return _DETACHED[app]


_DETACHED: "weakref.WeakKeyDictionary[App, Scheduler]" = weakref.WeakKeyDictionary()
"""Schedulers of apps that talk to a server over HTTP, opened when they first need the database."""
