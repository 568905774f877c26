"""`headway schedules …`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli import options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.schedules import Schedule

app = commands()

Name = Annotated[
    str, typer.Argument(metavar="SCHEDULE", help="Its name or id.", show_default=False)
]


@command(app, "list", "headway schedules list")
def list_schedules(session: "Session", limit: options.Limit = 50) -> None:
    """Schedules, newest first."""
    from headway.api.operation import Page
    from headway.cli import words
    from headway.cli.screen import Column, Styled
    from headway.client import calls

    found, more = session.some(calls.list_schedules(), limit)
    columns = [Column("NAME", elastic=True), Column("WHEN", elastic=True), Column("STATE")]
    rows = [
        [
            one.name or one.schedule_id,
            _when(one),
            Styled("on", "green") if one.enabled else Styled("off", "yellow"),
            words.when(one.next_trigger_at) or "",
        ]
        for one in found
    ]
    session.show(
        Page(items=found, next_cursor=more),
        lambda: session.screen.table([*columns, Column("NEXT", elastic=True)], rows),
    )


@command(app, "show", "headway schedules show nightly")
def show(session: "Session", schedule: Name) -> None:
    """Everything about one schedule."""
    from headway.client import calls

    _sheet(session, session.send(calls.get_schedule(schedule)))


@command(
    app,
    "create",
    "headway schedules create nightly --cron '0 3 * * *' --timezone Europe/Berlin",
    "headway schedules create poll --every 15m --overlap skip",
    "headway schedules create report --at 2030-01-31T18:30",
)
def create(
    session: "Session",
    template: Annotated[
        str, typer.Argument(metavar="TEMPLATE", help="What it makes jobs of.", show_default=False)
    ],
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Params of its jobs.")
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="JSON", help="All params in one object.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="To find it by.")] = None,
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="FIELDS", help="'0 3 * * *' or @daily.")
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="SPAN", help="90s, 15m, 1d.")
    ] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Once.")] = None,
    timezone: Annotated[
        str, typer.Option("--timezone", metavar="ZONE", help="For --cron.")
    ] = "UTC",
    priority: Annotated[
        str | None, typer.Option("--priority", "-p", metavar="N|NAME", help="Of its jobs.")
    ] = None,
    catchup: Annotated[
        str | None, typer.Option("--catchup", help="Missed fires: skip, one or all.")
    ] = None,
    overlap: Annotated[
        str | None, typer.Option("--overlap", help="While one is active: allow or skip.")
    ] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Not yet.")] = False,
) -> None:
    """Make a schedule from a template and one of --cron, --every and --at."""
    from headway.cli import job_options, values

    fields: dict[str, Any] = {
        "template": template,
        "name": name,
        "cron": cron,
        "every": every,
        "at": job_options.moment(at) if at else None,
        "timezone": timezone,
        "priority": priority,
        "catchup": catchup,
        "overlap": overlap,
        "enabled": not disabled,
        "params": values.read_params(pairs or [], params),
    }
    _create(session, {name: value for name, value in fields.items() if value is not None})


def _create(session: "Session", fields: dict[str, Any]) -> None:
    import msgspec

    from headway.api import table
    from headway.client import calls
    from headway.scheduler.schedules import ScheduleRequest

    request: ScheduleRequest = table.decode(msgspec.json.encode(fields), ScheduleRequest)
    _sheet(session, session.send(calls.create_schedule(request)))


@command(app, "enable", "headway schedules enable nightly")
def enable(session: "Session", schedule: Name) -> None:
    """Let a schedule fire."""
    _switch(session, schedule, True)


@command(app, "disable", "headway schedules disable nightly")
def disable(session: "Session", schedule: Name) -> None:
    """Let a schedule rest."""
    _switch(session, schedule, False)


def _switch(session: "Session", schedule: str, enabled: bool) -> None:
    from headway.client import calls
    from headway.scheduler.schedules import SchedulePatch

    _sheet(session, session.send(calls.change_schedule(schedule, SchedulePatch(enabled=enabled))))


@command(app, "delete", "headway schedules delete nightly")
def delete(session: "Session", schedule: Name) -> None:
    """Remove a schedule; its jobs stay."""
    from headway.client import calls

    gone = session.send(calls.remove_schedule(schedule))
    name = gone.name or gone.schedule_id
    session.show(gone, lambda: session.screen.line(f"Schedule {name} is gone"))


@command(app, "trigger", "headway schedules trigger nightly")
def trigger(session: "Session", schedule: Name) -> None:
    """Make a job of the schedule now."""
    from headway.client import calls

    job = session.send(calls.trigger_schedule(schedule))
    session.show(job, lambda: session.screen.line(f"Job {job.number} is made"))


@command(app, "next", "headway schedules next nightly -n 5")
def next_fires(
    session: "Session",
    schedule: Name,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=100, help="How many.")] = 10,
) -> None:
    """The next fires, with local times and weekdays."""
    from headway.cli.screen import Column
    from headway.client import calls

    page = session.send(calls.preview_schedule(schedule, count))
    rows = [
        [f"{one.at:%Y-%m-%d %H:%M:%S}Z", f"{one.local:%Y-%m-%d %H:%M %z}", one.weekday]
        for one in page.items
    ]
    columns = [Column("FIRES AT"), Column("THERE"), Column("WEEKDAY")]
    session.show(page, lambda: session.screen.table(columns, rows))


def _when(schedule: "Schedule") -> str:
    from headway.domain import durations, moments

    if schedule.cron:
        return f"{schedule.cron} {schedule.timezone}"
    if schedule.every is not None:
        return f"every {durations.show(schedule.every)}"
    return f"at {moments.show(schedule.at)}" if schedule.at else ""


def _sheet(session: "Session", schedule: "Schedule") -> None:
    from headway.cli import words

    session.show(
        schedule,
        lambda: session.screen.facts(
            [
                ("schedule", schedule.name or schedule.schedule_id),
                ("when", _when(schedule)),
                ("enabled", "yes" if schedule.enabled else "no"),
                ("next", words.when(schedule.next_trigger_at)),
                ("last", words.when(schedule.last_triggered_at)),
                ("params", words.params(schedule.params)),
                ("priority", None if schedule.priority is None else str(schedule.priority)),
                ("missed fires", schedule.catchup.value),
                ("overlap", schedule.overlap.value),
                ("template", session.template(schedule.template_id)),
                ("id", schedule.schedule_id),
            ]
        ),
    )
