"""`headway schedules …`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.manage.schedules import Schedule

app = commands()

Name = Annotated[
    str,
    typer.Argument(
        metavar="SCHEDULE",
        help="Schedule name or id.",
        show_default=False,
        autocompletion=completion.schedules,
    ),
]

Pairs = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Params of its jobs.")
]
Params = Annotated[
    str | None, typer.Option("--params", metavar="JSON", help="All params as one object.")
]
Cron = Annotated[
    str | None,
    typer.Option("--cron", metavar="FIELDS", help="Cron expression, e.g. '0 3 * * *' or @daily."),
]
Every = Annotated[
    str | None, typer.Option("--every", metavar="SPAN", help="Interval, e.g. 90s, 15m, 1d.")
]
At = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Fire once, e.g. at 2030-01-31T18:30.")
]
Timezone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Timezone of --cron [UTC].")
]
Priority = Annotated[
    str | None, typer.Option("--priority", "-p", metavar="N|NAME", help="Priority of its jobs.")
]
Catchup = Annotated[
    str | None, typer.Option("--catchup", help="Jobs for missed fires: skip, one or all.")
]
CatchupLimit = Annotated[
    int | None,
    typer.Option("--catchup-limit", metavar="N", help="With all: at most this many, the newest."),
]
Overlap = Annotated[
    str | None, typer.Option("--overlap", help="If its last job is still active: allow or skip.")
]


@command(app, "list", "headway schedules list")
def list_schedules(session: "Session", limit: options.Limit = 50) -> None:
    """List schedules, newest first."""
    from headway.cli.text import schedule_text
    from headway.cli.text.screen import Cell, Column

    page = session.some(protocol.schedules.list_schedules, limit)
    archived = schedule_text.archived_templates(session) if page.items else set()
    columns = [Column("NAME", elastic=True), Column("WHEN", elastic=True), Column("STATE")]
    rows: list[list[Cell]] = [
        [
            one.name or one.schedule_id,
            _when(one),
            schedule_text.state(one, archived),
            schedule_text.next_fire(one, archived),
        ]
        for one in page.items
    ]
    session.show(
        page,
        lambda: session.screen.table([*columns, Column("NEXT", elastic=True)], rows),
    )


@command(app, "show", "headway schedules show nightly")
def show(session: "Session", schedule: Name) -> None:
    """Show everything about one schedule."""
    _sheet(session, session.send(protocol.schedules.get_schedule, id=schedule))


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
        str,
        typer.Argument(
            metavar="TEMPLATE",
            help="Template to create jobs from.",
            show_default=False,
            autocompletion=completion.templates,
        ),
    ],
    pairs: Pairs = None,
    params: Params = None,
    name: Annotated[str | None, typer.Option("--name", help="Schedule name.")] = None,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    priority: Priority = None,
    catchup: Catchup = None,
    catchup_limit: CatchupLimit = None,
    overlap: Overlap = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Create it disabled.")] = False,
) -> None:
    """Create a schedule from a template and one of --cron, --every and --at."""
    from headway.domain.requests.schedule_requests import ScheduleRequest

    fields = _fields(
        pairs, params, cron, every, at, timezone, priority, catchup, catchup_limit, overlap
    )
    fields |= {"template": template, "name": name, "enabled": not disabled}
    request: ScheduleRequest = _read(fields, ScheduleRequest)
    _sheet(session, session.send(protocol.schedules.create_schedule, body=request))


@command(
    app,
    "edit",
    "headway schedules edit nightly --cron '0 4 * * *'",
    "headway schedules edit nightly length=3   # replaces all params",
)
def edit(
    session: "Session",
    schedule: Name,
    pairs: Pairs = None,
    params: Params = None,
    name: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            help="New template to create jobs from.",
            autocompletion=completion.templates,
        ),
    ] = None,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    priority: Priority = None,
    catchup: Catchup = None,
    catchup_limit: CatchupLimit = None,
    overlap: Overlap = None,
) -> None:
    """Change a schedule; existing jobs stay as they are."""
    from headway.domain.requests.schedule_requests import SchedulePatch

    fields = _fields(
        pairs, params, cron, every, at, timezone, priority, catchup, catchup_limit, overlap
    )
    patch: SchedulePatch = _read(fields | {"name": name, "template": template}, SchedulePatch)
    _sheet(session, session.send(protocol.schedules.change_schedule, id=schedule, body=patch))


def _fields(
    pairs: list[str] | None,
    params: str | None,
    cron: str | None,
    every: str | None,
    at: str | None,
    timezone: str | None,
    priority: str | None,
    catchup: str | None,
    catchup_limit: int | None,
    overlap: str | None,
) -> dict[str, Any]:
    """The fields that create and edit share, as far as they were given."""
    from headway.cli import job_options, values

    given = pairs or params is not None
    return {
        "params": values.read_params(pairs or [], params) if given else None,
        "cron": cron,
        "every": job_options.positive("--every", every),
        "at": job_options.moment(at) if at else None,
        "timezone": timezone,
        "priority": priority,
        "catchup": catchup,
        "catchup_limit": catchup_limit,
        "overlap": overlap,
    }


def _read(fields: dict[str, Any], kind: Any) -> Any:
    import msgspec

    from headway.protocol import bodies

    given = {name: value for name, value in fields.items() if value is not None}
    return bodies.decode(msgspec.json.encode(given), kind)


@command(app, "enable", "headway schedules enable nightly")
def enable(session: "Session", schedule: Name) -> None:
    """Enable a schedule."""
    _switch(session, schedule, True)


@command(app, "disable", "headway schedules disable nightly")
def disable(session: "Session", schedule: Name) -> None:
    """Disable a schedule."""
    _switch(session, schedule, False)


def _switch(session: "Session", schedule: str, enabled: bool) -> None:
    from headway.domain.requests.schedule_requests import SchedulePatch

    _sheet(
        session,
        session.send(
            protocol.schedules.change_schedule, id=schedule, body=SchedulePatch(enabled=enabled)
        ),
    )


@command(app, "delete", "headway schedules delete nightly")
def delete(session: "Session", schedule: Name) -> None:
    """Delete a schedule; its jobs stay."""
    gone = session.send(protocol.schedules.remove_schedule, id=schedule)
    name = gone.name or gone.schedule_id
    session.show(gone, lambda: session.screen.line(f"Deleted schedule {name}"))


@command(app, "trigger", "headway schedules trigger nightly")
def trigger(session: "Session", schedule: Name) -> None:
    """Create a job from the schedule now."""
    job = session.send(protocol.schedules.trigger_schedule, id=schedule)
    session.show(job, lambda: session.screen.line(f"Created job {job.number}"))


@command(app, "next", "headway schedules next nightly -n 5")
def next_fires(
    session: "Session",
    schedule: Name,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=100, help="How many.")] = 10,
) -> None:
    """Show the next fires, with local times and weekdays."""
    from headway.cli.text.screen import Column

    page = session.send(
        protocol.schedules.preview_schedule,
        id=schedule,
        query=protocol.schedules.PreviewQuery(n=count),
    )
    rows = [
        [f"{one.at:%Y-%m-%d %H:%M:%S}Z", f"{one.local:%Y-%m-%d %H:%M %z}", one.weekday]
        for one in page.items
    ]
    columns = [Column("UTC"), Column("LOCAL"), Column("WEEKDAY")]
    session.show(page, lambda: session.screen.table(columns, rows))


def _when(schedule: "Schedule") -> str:
    from headway.domain.values import durations, moments

    if schedule.cron:
        return f"{schedule.cron} {schedule.timezone}"
    if schedule.every is not None:
        return f"every {durations.show(schedule.every)}"
    return f"at {moments.show(schedule.at)}" if schedule.at else ""


def _sheet(session: "Session", schedule: "Schedule") -> None:
    from headway.cli.text import schedule_text, words
    from headway.domain.manage.templates import TemplateStatus

    def render() -> None:
        template = session.send(protocol.templates.get_template, id=schedule.template_id)
        archived = {template.template_id} if template.status is TemplateStatus.ARCHIVED else set()
        session.screen.facts(
            [
                ("schedule", schedule.name or schedule.schedule_id),
                ("when", _when(schedule)),
                ("state", schedule_text.state(schedule, archived)),
                ("next", schedule_text.next_fire(schedule, archived)),
                ("last", words.when(schedule.last_triggered_at)),
                ("params", words.params(schedule.params)),
                ("priority", None if schedule.priority is None else str(schedule.priority)),
                ("missed fires", schedule.catchup.value),
                ("overlap", schedule.overlap.value),
                ("template", template.name),
                ("code of", schedule.app),
                ("id", schedule.schedule_id),
            ]
        )

    session.show(schedule, render)
