"""Where the output of a run is: servers on one database have data directories of their own."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from headway.domain import errors
from headway.files import data_id, log_files
from headway.scheduler.admit.live_workers import is_alive
from headway.scheduler.scheduler import Scheduler
from headway.storage import runs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import workers
from headway.storage.manage.workers import WorkerRecord


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is alive, as it registered itself."""

    host: str
    process_started: str
    url: str


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Another data directory, the words for it, and the servers that can read it."""

    run_id: str
    data_id: str
    place: str
    servers: tuple[Server, ...] = ()

    def unreachable(self, why: str) -> errors.OutputElsewhere:
        """What is said when the output cannot be had from here."""
        return errors.OutputElsewhere(self.run_id, self.place, why)


def elsewhere(scheduler: Scheduler, tx: Transaction, run_id: str) -> Elsewhere | None:
    """The other data directory in which a run's output is; None if it is in this one."""
    home = runs.output_home(tx, run_id)
    if home is None or home == data_id.read(scheduler.data):
        return None
    users = workers.users_of_data(tx, home)
    servers = tuple(
        Server(host=one.host, process_started=one.process_started, url=one.url)
        for one in users
        if one.url and is_alive(scheduler, tx, one)
    )
    if not servers and _folder(scheduler, run_id).is_dir():
        return None  # its server is gone, and its logs were put here
    return Elsewhere(run_id=run_id, data_id=home, place=_place(users[:1]), servers=servers)


def check_here(scheduler: Scheduler, tx: Transaction, run_id: str) -> None:
    """Refuse to read a log that is not in this data directory."""
    if (found := elsewhere(scheduler, tx, run_id)) is not None:
        raise found.unreachable("ask its server" if found.servers else "no server runs there")


def _folder(scheduler: Scheduler, run_id: str) -> Path:
    return scheduler.data / log_files.folder(run_id)


def _place(users: Sequence[WorkerRecord]) -> str:
    for one in users:
        at = f" ({one.url})" if one.url else ""
        return f"host {one.host}{at} in {one.data}"
    return "a server that is not known any more"
