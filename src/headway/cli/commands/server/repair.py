"""`headway repair`: mend what `verify` finds, or save what a damaged file still holds."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.cli.session import Session
    from headway.scheduler.scheduler import Scheduler
    from headway.scheduler.upkeep.repair import Line, Repair

app = commands()

MOST_SHOWN = 20
"""So many problems with the same remedy are named one by one."""


@command(
    app,
    "repair",
    "headway repair --dry-run",
    "headway repair",
    "headway repair --yes --json",
    "headway repair --salvage saved.db",
)
def repair(
    session: "Session",
    salvage: Annotated[
        Path | None,
        typer.Option(
            "--salvage",
            metavar="NEWFILE",
            help="Save what a damaged SQLite file still holds in a new one.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = (
        False
    ),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
) -> None:
    """Mend what verify finds, or save what a damaged file holds; stop the servers first."""
    if salvage is not None:
        from headway.cli import salvaging

        salvaging.salvage(session, salvage)
    else:
        _repair(session, dry_run=dry_run, sure=yes)


def _repair(session: "Session", *, dry_run: bool, sure: bool) -> None:
    from headway.scheduler.upkeep import repair as repairing

    scheduler = _stopped(session)
    plan = repairing.plan(scheduler)
    if dry_run or not plan.mended:
        _show(session, plan, None, done=False)
        raise typer.Exit(1 if plan.left and not dry_run else 0)
    _ask(session, plan, sure=sure)
    backup = _back_up(session, scheduler)
    done = repairing.repair(scheduler)
    _note(scheduler, done)
    _show(session, done, backup, done=True)
    if done.left:
        raise typer.Exit(1)


def _stopped(session: "Session") -> "Scheduler":
    """The scheduler on a database that no server uses and that can be read as a whole."""
    from headway.domain import errors
    from headway.scheduler.upkeep import repair as repairing

    scheduler = session.open_scheduler()
    repairing.refuse_while_served(scheduler)
    if damage := scheduler.store.database.damage():
        file = session.settings.database_url.removeprefix("sqlite:///")
        raise errors.DatabaseDamaged(file, damage[0])
    return scheduler


def _ask(session: "Session", plan: "Repair", *, sure: bool) -> None:
    """Show the plan, and go on only if it is wanted."""
    from headway.domain import errors

    if sure:
        return
    if session.screen.json or not sys.stdin.isatty():
        raise errors.InvalidRequest(
            "--yes", "repair changes the database: look at the plan with --dry-run, then give --yes"
        )
    render(session, plan, done=False)
    typer.confirm(f"Make a backup and mend {count_of(len(plan.mended))}?", abort=True)


def _back_up(session: "Session", scheduler: "Scheduler") -> Path:
    from headway.cli.commands.server import backup

    url = session.settings.database_url
    is_file = url.startswith("sqlite:///")
    folder = Path(url.removeprefix("sqlite:///")).parent if is_file else session.settings.data_dir
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    file = folder / f"headway-before-repair-{moment}.db"
    backup.copy(scheduler.store.database, file)
    return file


def _note(scheduler: "Scheduler", done: "Repair") -> None:
    from headway.operations.local import local_principal
    from headway.scheduler.manage import audit

    what = f"{count_of(len(done.mended))} mended, {len(done.left)} left"
    scheduler.store.write(lambda tx: audit.note(scheduler, tx, local_principal(), "repair", what))


def _show(session: "Session", found: "Repair", backup: Path | None, *, done: bool) -> None:
    value = {
        "done": done,
        "backup": None if backup is None else str(backup),
        "mended": found.mended,
        "left": found.left,
    }

    def text() -> None:
        if backup is not None:
            session.screen.line(f"Backup: {backup}")
        render(session, found, done=done)

    session.show(value, text)


def render(session: "Session", found: "Repair", *, done: bool) -> None:
    """What is or was to be mended, and what is left."""
    if not found.mended and not found.left:
        session.screen.line("No problems found")
        return
    _lines(session, "Mended:" if done else "To mend:", found.mended)
    _lines(session, "Not mended, because that would be a guess:", found.left)
    if done:
        rest = f", {count_of(len(found.left))} left" if found.left else "; verify finds no problems"
        session.screen.line(f"Mended {count_of(len(found.mended))}{rest}")


def _lines(session: "Session", title: str, lines: "Sequence[Line]") -> None:
    """Problems under what is done about them, the first of each kind by name."""
    if not lines:
        return
    session.screen.line(title)
    by_remedy: dict[str, list[str]] = {}
    for one in lines:
        by_remedy.setdefault(one.remedy, []).append(one.problem)
    for remedy, problems in by_remedy.items():
        for problem in problems[:MOST_SHOWN]:
            session.screen.line(f"  {problem}")
        if len(problems) > MOST_SHOWN:
            session.screen.line(f"  … and {len(problems) - MOST_SHOWN:,} more")
        session.screen.line(f"    -> {remedy}")


def count_of(count: int) -> str:
    """So many problems, in words."""
    return "1 problem" if count == 1 else f"{count:,} problems"
