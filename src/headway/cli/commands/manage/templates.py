"""`headway templates …`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.manage.templates import Template

app = commands()

Name = Annotated[
    str,
    typer.Argument(
        metavar="TEMPLATE",
        help="Template name or id.",
        show_default=False,
        autocompletion=completion.templates,
    ),
]
Pairs = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Params of its jobs.")
]
Params = Annotated[
    str | None, typer.Option("--params", metavar="JSON", help="All params as one object.")
]
Description = Annotated[str | None, typer.Option("--description", "-d", help="What it is for.")]
Priority = Annotated[
    str | None, typer.Option("--priority", "-p", metavar="N|NAME", help="Priority of its jobs.")
]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="Queue of its jobs.")]
Timeout = Annotated[
    str | None,
    typer.Option(
        "--timeout", metavar="SPAN", help="Stop its jobs after this long, e.g. 90s, 10m, 2h."
    ),
]
Retries = Annotated[int | None, typer.Option("--retries", help="How many times to retry its jobs.")]
File = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Read all fields from a TOML or JSON file; - reads JSON from stdin.",
    ),
]


@command(app, "list", "headway templates list", "headway templates list --all")
def list_templates(
    session: "Session",
    everything: Annotated[bool, typer.Option("--all", "-a", help="Include archived ones.")] = False,
    limit: options.Limit = 50,
) -> None:
    """List templates, newest first."""
    from headway.cli.text import words
    from headway.cli.text.screen import Cell, Column
    from headway.protocol.templates import TemplateQuery

    query = TemplateQuery(status=None if everything else "ACTIVE")
    page = session.some(protocol.templates.list_templates, limit, query=query)
    columns = [Column("NAME", elastic=True), Column("TYPE", elastic=True), Column("STATUS")]
    columns += [Column("PARAMS", elastic=True), Column("DESCRIPTION", elastic=True)]
    rows: list[list[Cell]] = [
        [
            one.name,
            one.job_type,
            words.status(one.status),
            words.params(one.params),
            one.description or "",
        ]
        for one in page.items
    ]
    session.show(page, lambda: session.screen.table(columns, rows))


@command(app, "show", "headway templates show nightly")
def show(session: "Session", template: Name) -> None:
    """Show everything about one template."""
    _sheet(session, session.send(protocol.templates.get_template, id=template))


@command(
    app,
    "create",
    "headway templates create nightly story genre=horror --timeout 10m",
    'headway templates create deploy command argv=\'["make", "deploy"]\'',
    "headway templates create --file nightly.toml",
)
def create(
    session: "Session",
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Template name.")] = None,
    job_type: Annotated[
        str | None,
        typer.Argument(metavar="TYPE", help="Job type.", autocompletion=completion.job_types),
    ] = None,
    pairs: Pairs = None,
    params: Params = None,
    description: Description = None,
    priority: Priority = None,
    queue: Queue = None,
    timeout: Timeout = None,
    retries: Retries = None,
    file: File = None,
) -> None:
    """Create a template; its name must be unused."""
    from headway.domain.requests.template_requests import TemplateRequest

    fields = _fields(pairs, params, description, priority, queue, timeout, retries)
    fields.update({k: v for k, v in (("name", name), ("job_type", job_type)) if v is not None})
    request = _read(file, fields, TemplateRequest)
    _sheet(session, session.send(protocol.templates.create_template, body=request))


@command(
    app,
    "edit",
    "headway templates edit nightly --priority high",
    "headway templates edit nightly genre=comedy   # replaces all params",
)
def edit(
    session: "Session",
    template: Name,
    pairs: Pairs = None,
    params: Params = None,
    name: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    description: Description = None,
    priority: Priority = None,
    queue: Queue = None,
    timeout: Timeout = None,
    retries: Retries = None,
    file: File = None,
) -> None:
    """Change a template; existing jobs stay as they are."""
    from headway.domain.requests.template_requests import TemplatePatch

    fields = _fields(pairs, params, description, priority, queue, timeout, retries)
    if name is not None:
        fields["name"] = name
    patch = _read(file, fields, TemplatePatch)
    _sheet(session, session.send(protocol.templates.change_template, id=template, body=patch))


@command(app, "archive", "headway templates archive nightly")
def archive(session: "Session", template: Name) -> None:
    """Archive a template: it stays readable but creates no more jobs."""
    from headway.protocol.schedules import ScheduleQuery

    gone = session.send(protocol.templates.archive_template, id=template)

    def render() -> None:
        session.screen.line(f"Archived template {gone.name}")
        query = ScheduleQuery(template_id=gone.template_id)
        for one in session.client.pages(protocol.schedules.list_schedules, query=query):
            if one.enabled:
                name = one.name or one.schedule_id
                session.screen.note(
                    f"schedule {name} makes no more jobs; to remove it: "
                    f"headway schedules delete {name}"
                )

    session.show(gone, render)


def _fields(
    pairs: list[str] | None,
    params: str | None,
    description: str | None,
    priority: str | None,
    queue: str | None,
    timeout: str | None,
    retries: int | None,
) -> dict[str, Any]:
    """The fields that were given on the command line."""
    from headway.cli import job_options, values
    from headway.domain.values import durations

    fields: dict[str, Any] = {"description": description, "priority": priority, "queue": queue}
    if pairs or params is not None:
        fields["params"] = values.read_params(pairs or [], params)
    if timeout is not None:
        job_options.positive("--timeout", timeout)
        fields["timeout_s"] = durations.parse(timeout)
    if retries is not None:
        fields["retry_policy"] = {"max_attempts": retries}
    return {name: value for name, value in fields.items() if value is not None}


def _read(file: Path | None, fields: dict[str, Any], kind: Any) -> Any:
    """The file's fields, with those of the command line over them."""
    import msgspec

    from headway.cli import files
    from headway.protocol import bodies

    base = bodies.decode(files.as_json(file), dict[str, Any]) if file is not None else {}
    return bodies.decode(msgspec.json.encode({**base, **fields}), kind)


def _sheet(session: "Session", template: "Template") -> None:
    from headway.cli.text import job_text, words
    from headway.domain.jobs import RetryPolicy
    from headway.domain.values import durations

    policy = template.retry_policy  # one that is the default leaves it to the handler
    session.show(
        template,
        lambda: session.screen.facts(
            [
                ("template", template.name),
                ("status", words.status(template.status)),
                ("type", template.job_type),
                ("params", words.params(template.params)),
                ("description", template.description),
                ("queue", template.queue),
                ("priority", str(template.priority)),
                ("retries", None if policy == RetryPolicy() else str(policy.max_attempts)),
                ("timeout", durations.show(template.timeout_s) if template.timeout_s else None),
                ("requires", ", ".join(template.requires)),
                ("locks", ", ".join(job_text.lock(one) for one in template.locks)),
                ("tags", ", ".join(template.tags)),
                ("changed", words.when(template.updated_at)),
                ("id", template.template_id),
            ]
        ),
    )
