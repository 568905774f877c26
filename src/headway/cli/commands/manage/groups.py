"""`headway groups …`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.manage.groups import Group

app = commands()

GroupId = Annotated[
    str,
    typer.Argument(
        metavar="GROUP",
        help="Group name or id.",
        show_default=False,
        autocompletion=completion.groups,
    ),
]


@command(app, "list", "headway groups list")
def list_groups(session: "Session", limit: options.Limit = 20) -> None:
    """List groups, newest first."""
    from headway.cli.text import words
    from headway.cli.text.screen import Column

    page = session.some(protocol.groups.list_groups, limit)
    columns = [Column(title) for title in ("GROUP", "STATUS", "MODE", "AGE", "JOBS")]
    session.show(
        page,
        lambda: session.screen.table(
            [*columns, Column("NAME", elastic=True)],
            [
                [
                    group.group_id,
                    words.status(group.status),
                    group.mode.value,
                    words.age(group.created_at),
                    str(len(group.members)),
                    group.name or "",
                ]
                for group in page.items
            ],
        ),
    )


@command(app, "show", "headway groups show release")
def show(session: "Session", group: GroupId) -> None:
    """Show one group and its members."""
    _sheet(session, session.send(protocol.groups.get_group, id=group))


@command(
    app,
    "create",
    "headway groups create --file release.toml",
    "",
    "release.toml:",
    '  name = "release"',
    '  mode = "sequential"      # or parallel',
    '  on_failure = "stop"      # or continue, skip',
    "  [[jobs]]",
    '  job_type = "command"',
    '  params = {argv = ["make", "test"]}',
    "  [[jobs]]",
    '  job_type = "command"',
    '  params = {argv = ["make", "publish"]}',
    "  [on_complete]            # a job made when the group ends, with its summary",
    '  job_type = "tell"',
)
def create(
    session: "Session",
    file: Annotated[
        Path,
        typer.Option(
            "--file", "-f", metavar="FILE", help="TOML or JSON file; - reads JSON from stdin."
        ),
    ],
) -> None:
    """Submit jobs as a group, all or nothing."""
    from headway.cli import files
    from headway.domain.requests.group_requests import GroupRequest
    from headway.protocol import bodies

    request: GroupRequest = bodies.decode(files.as_json(file), GroupRequest)
    _sheet(session, session.send(protocol.groups.create_group, body=request))


@command(app, "cancel", "headway groups cancel GROUP --force")
def cancel(
    session: "Session",
    group: GroupId,
    force: Annotated[bool, typer.Option("--force", help="Also stop running members.")] = False,
    reason: Annotated[str | None, typer.Option("--reason", "-r", help="Reason to record.")] = None,
) -> None:
    """Cancel every member that has not ended."""
    _sheet(
        session,
        session.send(
            protocol.groups.cancel_group,
            id=group,
            body=protocol.jobs.CancelBody(reason=reason, force=force),
        ),
    )


@command(app, "reorder", "headway groups reorder GROUP 9 7 8")
def reorder(session: "Session", group: GroupId, order: options.Jobs) -> None:
    """Reorder the members that have not started; list all of them."""
    _sheet(
        session,
        session.send(
            protocol.groups.reorder_group,
            id=group,
            body=protocol.groups.GroupOrder(order=list(order)),
        ),
    )


def _sheet(session: "Session", group: "Group") -> None:
    from headway.cli.text import words
    from headway.cli.text.screen import Cell, Column

    def render() -> None:
        session.screen.facts(
            [
                ("group", group.group_id),
                ("name", group.name),
                ("status", words.status(group.status)),
                ("mode", f"{group.mode.value}, on failure {group.on_failure.value}"),
                ("created", words.when(group.created_at)),
                (
                    "made at its end",
                    f"job {session.number(group.on_complete_job)}"
                    if group.on_complete_job
                    else None,
                ),
            ]
        )
        rows: list[list[Cell]] = [
            [str(one.number), words.status(one.status)] for one in group.members
        ]
        session.screen.table([Column("JOB"), Column("STATUS")], rows)

    session.show(group, render)
