"""The composition root's other half: settings become a worker."""

import os
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headway.clock import SystemClock
from headway.domain.handlers import Handler
from headway.domain.values import ids
from headway.domain.workers import Abilities, DataDirectory, served_types
from headway.files import data_id, log_files
from headway.files.log_parts import OutputBound
from headway.settings import Settings
from headway.worker import process_groups
from headway.worker.executors.by_type import Executors
from headway.worker.executors.children import Nursery
from headway.worker.executors.commands import CommandExecutor
from headway.worker.executors.processes import ProcessExecutor
from headway.worker.executors.threads import ThreadExecutor
from headway.worker.executors.timers import Timers
from headway.worker.guard import Guard
from headway.worker.pool.messages import Setup
from headway.worker.pool.pool import HandlerPool
from headway.worker.transport import Registration
from headway.workspace import Workspace

if TYPE_CHECKING:
    from headway.client.app import App


def executors(
    handlers: Mapping[str, Handler],
    slots: int,
    workspace: Workspace,
    limit: int,
    bound: OutputBound,
    settings: Settings | None = None,
    *,
    pool: HandlerPool | None = None,
    app: "App | None" = None,
) -> Executors:
    """Every way to execute a job. Without a pool, handlers run in threads of this process."""
    timers = pool.timers if pool else Timers()
    in_threads = pool or ThreadExecutor(handlers, slots, timers=timers, result_limit=limit, app=app)
    nursery = Nursery(pool.guard if pool else Guard(), timers, bound=bound)
    isolated = {name for name, handler in handlers.items() if handler.isolation == "process"}
    return Executors(
        in_threads,
        ProcessExecutor(handlers, nursery, result_limit=limit, settings=settings),
        CommandExecutor(nursery, workspace.resolve),
        isolated,
    )


def handler_pool(settings: Settings, app: "App") -> HandlerPool | None:
    """The processes in which handlers of a server run; None if there is nothing to run in them."""
    if not app.prepares and all(one.isolation == "process" for one in app.handlers.values()):
        return None
    setup = Setup(
        settings=settings,
        path=sys.path,
        data=settings.data_dir.resolve(),
        slots=settings.slots,
        result_limit=settings.largest_body,
    )
    return HandlerPool(setup, min(settings.processes, settings.slots))


def registration(
    settings: Settings,
    handlers: Sequence[str],
    *,
    prefix: str,
    every_queue: bool,
    home: DataDirectory | None = None,
) -> Registration:
    """Who this process is, as a worker."""
    me = process_groups.identify(os.getpid())
    unique = ids.uuid7(SystemClock().now(), secrets.SystemRandom())[-12:]
    return Registration(
        worker_id=f"{prefix}-{socket.gethostname()}-{os.getpid()}-{unique}",
        host=me.host,
        pid=me.pid,
        process_started=f"{me.boot_id}/{me.start_time}",
        abilities=Abilities(
            queues=None if every_queue else settings.queues,
            job_types=served_types(handlers, settings.allow_commands),
            capabilities=settings.capabilities,
        ),
        slots=settings.slots,
        home=home,
    )


def home(data: Path, url: str | None = None) -> DataDirectory:
    """The data directory of a process that keeps the output of its runs there."""
    return DataDirectory(data_id=data_id.ensure(data), data=str(data.resolve()), url=url)


def end_orphans(data: Path, run_ids: Sequence[str]) -> None:
    """End the programs that runs of a dead worker left behind."""
    folders = {run_id: data / log_files.folder(run_id) for run_id in run_ids}
    if not process_groups.end_recorded(folders, grace=2.0):
        raise RuntimeError(f"programs of these runs could not be ended: {', '.join(run_ids)}")
