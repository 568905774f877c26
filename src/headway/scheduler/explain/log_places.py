"""Where the output of a run is: servers on one database have data directories of their own."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from headway.domain import errors
from headway.scheduler.admit.live_workers import is_alive
from headway.scheduler.scheduler import Scheduler
from headway.storage import data_id, log_files
from headway.storage.transaction import Row, Transaction


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
    row = tx.row("output_home", run_id=run_id)
    home = row["output_at"] if row else None
    if home is None or home == data_id.read(scheduler.data):
        return None
    rows = tx.rows("servers_of_data", data_id=home)
    servers = tuple(_server(one) for one in rows if one["url"] and is_alive(scheduler, tx, one))
    if not servers and _folder(scheduler, run_id).is_dir():
        return None  # its server is gone, and its logs were put here
    return Elsewhere(run_id=run_id, data_id=home, place=_place(rows[:1]), servers=servers)


def check_here(scheduler: Scheduler, tx: Transaction, run_id: str) -> None:
    """Refuse to read a log that is not in this data directory."""
    if (found := elsewhere(scheduler, tx, run_id)) is not None:
        raise found.unreachable("ask its server" if found.servers else "no server runs there")


def _folder(scheduler: Scheduler, run_id: str) -> Path:
    return scheduler.data / log_files.folder(run_id)


def _server(row: Row) -> Server:
    return Server(host=row["host"], process_started=row["process_started"], url=row["url"])


def _place(rows: Sequence[Row]) -> str:
    for row in rows:
        at = f" ({row['url']})" if row["url"] else ""
        return f"host {row['host']}{at} in {row['data']}"
    return "a server that is not known any more"
