"""`headway backup`: the database, and the logs if wanted, to files."""

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.storage.engine.store import Database

app = commands()


@command(
    app,
    "backup",
    "headway backup /backups/headway.db",
    "headway backup /backups/headway.db --logs",
    "headway backup --db postgresql://localhost/headway /backups/headway.db",
)
def backup(
    session: "Session",
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to copy to.")],
    logs: Annotated[
        bool,
        typer.Option("--logs", help="Also write the logs of runs to FILE.logs.tar."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Copy the database to a SQLite file while it is in use, whichever database it is."""
    archive = file.with_name(f"{file.name}.logs.tar") if logs else None
    _refuse_targets([file, *([archive] if archive else [])], force=force)
    with contextlib.closing(session.open_database()) as database:
        _refuse_own_files(file, session.settings.database_url)
        size = copy(database, file)
    count = None
    if archive is not None:
        from headway.files import log_archive

        count = log_archive.write(session.settings.data_dir, archive)
    _show(session, file, size, archive, count)


def _refuse_targets(files: list[Path], *, force: bool) -> None:
    from headway.domain import errors

    for file in files:
        if not file.parent.is_dir():
            raise errors.InvalidRequest(
                "", f"{file}: there is no folder {file.parent}; make it first"
            )
        if file.exists() and not force:
            raise errors.Conflict(f"{file} already exists; use --force to replace it")


def _refuse_own_files(file: Path, database_url: str) -> None:
    """Refuse the database itself and the files that SQLite keeps beside it."""
    from headway.domain import errors

    database = database_url.removeprefix("sqlite:///")
    own = [Path(database + ending) for ending in ("", "-wal", "-shm")]
    if file.exists() and any(one.exists() and one.samefile(file) for one in own):
        raise errors.Conflict(f"{file} is the database itself; choose another file")


def copy(database: "Database", file: Path) -> int:
    """Copy a database to a file and check the copy; return its size.

    It is made beside the target, so that a good old backup is never half overwritten.
    """
    from headway import local_wiring
    from headway.cli.text.bar import Bar
    from headway.domain import errors

    partial = file.with_name(f"{file.name}.partial")
    _remove(partial)
    try:
        with Bar("backup") as bar:
            local_wiring.copy_database(database, partial, bar.count)
        if found := local_wiring.damage_of_file(partial):
            raise errors.Unavailable(f"{file} was not written: the copy is damaged ({found[0]})")
        partial.replace(file)
    except sqlite3.Error as error:
        raise errors.Unavailable(f"{file} could not be written: {error}") from None
    finally:
        _remove(partial)
    return file.stat().st_size


def _remove(database: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        database.with_name(database.name + ending).unlink(missing_ok=True)


def _show(
    session: "Session", file: Path, size: int, archive: Path | None, count: int | None
) -> None:
    value = {"file": str(file), "bytes": size}
    if archive is not None:
        value |= {"logs": str(archive), "runs": count or 0}

    def render() -> None:
        session.screen.line(f"Copied to {file}, {size:,} bytes; the copy is intact")
        if archive is not None:
            runs = "1 run" if count == 1 else f"{count:,} runs"
            session.screen.line(f"The logs of {runs} are in {archive}")

    session.show(value, render)
