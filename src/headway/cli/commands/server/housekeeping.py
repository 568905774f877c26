"""`headway gc`, `verify` and `migrate`: work on the database itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()


OlderThan = Annotated[
    str, typer.Option("--older-than", metavar="SPAN", help="Age, e.g. 12h or 30d.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what would be removed.")]


@command(app, "gc", "headway gc", "headway gc --older-than 12h", "headway gc --dry-run")
def gc(session: "Session", older_than: OlderThan = "7d", dry_run: DryRun = False) -> None:
    """Remove jobs that ended long ago, with their runs, logs and events."""
    collect(session, older_than, dry_run=dry_run)


def collect(session: "Session", older_than: str, *, dry_run: bool) -> None:
    """Remove them with a bar that counts, or only count them."""
    from headway.cli.text.bar import Bar
    from headway.domain import errors
    from headway.domain.values import durations
    from headway.operations.local import local_principal
    from headway.scheduler.manage import audit
    from headway.scheduler.upkeep import retention

    seconds = durations.parse(older_than)
    if seconds < 1:
        raise errors.InvalidRequest("--older-than", f"{older_than} is less than 1s")
    scheduler = session.open_scheduler()
    if dry_run:
        would = retention.count(scheduler, seconds)
        text = f"Would remove {would.jobs} jobs and {would.runs} runs from more than"
        session.show(would, lambda: session.screen.line(f"{text} {older_than} ago"))
        return
    with Bar("gc") as bar:
        done = retention.collect(
            scheduler, seconds, lambda jobs: bar.count(jobs, what="jobs removed")
        )
    what = f"{done.jobs} jobs older than {older_than}"
    scheduler.store.write(lambda tx: audit.note(scheduler, tx, local_principal(), "gc", what))
    session.show(
        done,
        lambda: session.screen.line(
            f"Removed {done.jobs} jobs, {done.runs} runs and {done.records} other records "
            f"older than {older_than}"
        ),
    )


@command(app, "verify", "headway verify")
def verify(session: "Session") -> None:
    """Check that the database is intact and consistent."""
    from headway.domain import errors
    from headway.scheduler.upkeep import verify as verifying

    found = verifying.examine(session.open_scheduler())
    problems = [*found.damage, *found.broken]
    file = session.settings.database_url.removeprefix("sqlite:///")
    advice = errors.DatabaseDamaged.advice(file) if found.damage else None

    def render() -> None:
        for problem in problems:
            session.screen.line(problem)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        session.screen.line(count if problems else "No problems found")
        if advice is not None:
            session.screen.line(f"{file} is damaged: {advice}")

    session.show({"ok": not problems, "problems": problems, "advice": advice}, render)
    if problems:
        raise typer.Exit(1)


@command(
    app,
    "migrate",
    "headway migrate",
    "headway migrate --db postgresql://localhost/headway",
    "headway migrate --from sqlite:///old.db --to postgresql://localhost/headway",
)
def migrate(
    session: "Session",
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="Copy everything from this database …"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="… to this one, which must be empty.")
    ] = None,
) -> None:
    """Bring the database up to date, or copy it to another one."""
    if source is not None or target is not None:
        return _move(session, source, target)
    return _migrate(session)


def _move(session: "Session", source: str | None, target: str | None) -> None:
    from headway import local_wiring, wiring
    from headway.cli.text.bar import Bar
    from headway.clock import SystemClock
    from headway.domain import errors
    from headway.storage.engine.move import KEYS, move

    if source is None or target is None:
        raise errors.InvalidRequest("migrate", "give both --from and --to")
    if (missing := wiring.missing_file(source)) is not None:
        raise errors.InvalidRequest("--from", f"{missing} does not exist")
    old = local_wiring.open_database(source, SystemClock())
    new = local_wiring.open_database(target, SystemClock())
    try:
        new.check()
        new.migrate()
        with Bar("copy") as bar:
            tables = list(KEYS)
            counts = move(
                old, new, lambda table, _: bar.count(tables.index(table), len(tables), table)
            )
    finally:
        old.close()
        new.close()

    def render() -> None:
        for table, count in counts.items():
            if count:
                session.screen.line(f"{count:>10,}  {table}")
        session.screen.line("Everything is copied. Start the server with --db and the new URL.")

    session.show({"copied": counts}, render)


def _migrate(session: "Session") -> None:
    from headway import local_wiring
    from headway.cli.text.bar import Bar
    from headway.clock import SystemClock

    database = local_wiring.open_database(session.settings.database_url, SystemClock())
    database.check()
    taken: list[str] = []
    try:
        pending = database.pending_migrations()
        with Bar("migrate") as bar:
            for done, name in enumerate(pending):
                bar.count(done, len(pending), name)
                taken += database.migrate(int(name.split()[0]))
    finally:
        database.close()

    def render() -> None:
        for name in taken:
            session.screen.line(f"applied {name}")
        session.screen.line("The database is up to date")

    session.show({"applied": taken}, render)
