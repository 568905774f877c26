"""`headway repair --salvage`: what a damaged SQLite file still holds, into a new one."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from headway.cli.commands.server import repair as repair_command
from headway.cli.text.bar import Bar
from headway.clock import SystemClock
from headway.domain import errors
from headway.server_file import ServerFile
from headway.settings import Settings
from headway.storage.engine.store import Store
from headway.storage.sqlite.database import SqliteDatabase
from headway.storage.sqlite.salvage import salvage as salvaging
from headway.storage.sqlite.salvage.salvage import Saved

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.scheduler.upkeep.repair import Repair

MOST_SHOWN = 20


def salvage(session: "Session", target: Path) -> None:
    """Save what can be read, mend what the loss broke, check it, and say how to use it."""
    source = _source(session.settings)
    _refuse_target(target)
    _refuse_while_served(session.settings)
    damage = _damage(source, target.parent)
    database = SqliteDatabase(target, SystemClock())
    database.migrate()
    with Bar("salvage") as bar:
        tables = salvaging.salvage(source, target, lambda done, of: bar.count(done, of, "tables"))
    mended, problems = _restore(session, database)
    lost = {name: one for name, one in tables.items() if not one.is_whole}
    value = {
        "file": str(target),
        "damage": damage,
        "tables": {name: _counts(one) for name, one in tables.items()},
        "mended": mended.mended,
        "problems": problems,
    }
    session.show(
        value, lambda: _render(session, source, target, damage, tables, lost, mended, problems)
    )
    if problems:
        raise typer.Exit(1)


def _source(settings: Settings) -> Path:
    url = settings.database_url
    if settings.url or not url.startswith("sqlite:///"):
        raise errors.InvalidRequest(
            "--salvage", "reads a SQLite file; restore a backup of a PostgreSQL database"
        )
    source = Path(url.removeprefix("sqlite:///"))
    if not source.exists() and not source.with_name(f"{source.name}-wal").exists():
        raise errors.NoStore(str(source.parent.absolute()))
    return source


def _refuse_target(target: Path) -> None:
    if target.exists():
        raise errors.Conflict(f"{target} already exists; choose a new file")
    if not target.parent.is_dir():
        raise errors.InvalidRequest(
            "--salvage", f"{target}: there is no folder {target.parent}; make it first"
        )


def _refuse_while_served(settings: Settings) -> None:
    running = None if settings.db else ServerFile(settings.data_dir).running()
    if running is not None:
        raise errors.Conflict(f"a server is running (process {running.pid}); stop it first")


def _damage(source: Path, beside: Path) -> list[str]:
    """What SQLite finds wrong, in a copy: to open the file itself could change it."""
    with TemporaryDirectory(prefix="salvage-", dir=beside) as folder:
        copy = Path(folder, source.name)
        for ending in ("", "-wal"):
            part = source.with_name(source.name + ending)
            if part.exists():
                shutil.copyfile(part, copy.with_name(copy.name + ending))
        if not copy.exists() or not copy.stat().st_size:
            return [f"{source.name} is empty or missing"]
        return SqliteDatabase(copy, SystemClock()).damage()


def _restore(session: "Session", database: SqliteDatabase) -> "tuple[Repair, list[str]]":
    from headway import local_wiring
    from headway.scheduler.upkeep import salvage as restoring
    from headway.scheduler.upkeep import verify

    store = Store(database)
    try:
        scheduler = local_wiring.build_scheduler(session.settings, store)
        return restoring.restore(scheduler), verify.verify(scheduler)
    finally:
        store.close()


def _counts(one: Saved) -> dict[str, Any]:
    return {
        "saved": one.saved,
        "lost": one.lost,
        "damaged_pages": one.damaged_pages,
        "lost_keys": one.lost_keys,
    }


def _render(
    session: "Session",
    source: Path,
    target: Path,
    damage: list[str],
    tables: dict[str, Saved],
    lost: dict[str, Saved],
    mended: "Repair",
    problems: list[str],
) -> None:
    line = session.screen.line
    line(f"SQLite finds wrong with {source}:" if damage else f"SQLite finds {source} intact")
    for one in damage[:MOST_SHOWN]:
        line(f"  {one}")
    if len(damage) > MOST_SHOWN:
        line(f"  … and {len(damage) - MOST_SHOWN:,} more")
    line(f"Saved in {target}:")
    for name, saved in tables.items():
        if saved.saved or name in lost:
            line(f"{saved.saved:>10,}  {name}{_loss(saved)}")
    for problem in _lost_jobs(tables["jobs"]):
        line(problem)
    if mended.mended or mended.left:
        repair_command.render(session, mended, done=True)
    for problem in problems:
        line(f"verify finds: {problem}")
    if not problems:
        _say_how_to_use(session, source, target)


def _loss(one: Saved) -> str:
    if one.is_whole:
        return ""
    if one.lost is None:
        pages = "1 page" if one.damaged_pages == 1 else f"{one.damaged_pages} pages"
        return f", and {pages} cannot be read: how many rows were there is not known"
    return f", {one.lost:,} lost"


def _lost_jobs(saved: Saved) -> list[str]:
    if not saved.lost_keys:
        return []
    named = ", ".join(key[0] for key in saved.lost_keys[:MOST_SHOWN])
    more = len(saved.lost_keys) - MOST_SHOWN
    return [f"Lost jobs: {named}{f' and {more:,} more' if more > 0 else ''}"]


def _say_how_to_use(session: "Session", source: Path, target: Path) -> None:
    line = session.screen.line
    line("verify finds no problems. The damaged files are unchanged. To use the new one:")
    line(f"  mkdir damaged && mv {source}* damaged/")
    line(f"  mv {target} {source}")
    line("  headway serve")
