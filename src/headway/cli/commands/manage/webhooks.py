"""`headway webhooks …`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion, options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.manage.webhooks import Delivery

app = commands()

WIDE = 120

WebhookId = Annotated[
    str, typer.Argument(metavar="WEBHOOK", help="Webhook id.", show_default=False)
]
DeliveryId = Annotated[
    str, typer.Argument(metavar="DELIVERY", help="Delivery id.", show_default=False)
]


@command(app, "list", "headway webhooks list")
def list_webhooks(session: "Session", limit: options.Limit = 50) -> None:
    """List endpoints, newest first."""
    from headway.cli.text.screen import Column

    page = session.some(protocol.webhooks.list_webhooks, limit)
    columns = [Column("WEBHOOK"), Column("URL", elastic=True), Column("EVENTS", elastic=True)]
    session.show(
        page,
        lambda: session.screen.table(
            columns, [[one.webhook_id, one.url, ", ".join(one.events)] for one in page.items]
        ),
    )


@command(
    app,
    "add",
    "headway webhooks add https://ci.example/hook",
    "headway webhooks add https://ci.example/hook --event job.run.failed",
)
def add(
    session: "Session",
    endpoint: Annotated[
        str, typer.Argument(metavar="URL", help="URL to notify.", show_default=False)
    ],
    event: Annotated[
        list[str] | None, typer.Option("--event", "-e", help="Event to send; all if not given.")
    ] = None,
) -> None:
    """Register an endpoint; its secret is shown only once."""
    webhook = session.send(
        protocol.webhooks.create_webhook,
        body=protocol.webhooks.WebhookRequest(url=endpoint, events=event),
    )
    session.show(
        webhook,
        lambda: session.screen.facts(
            [
                ("webhook", webhook.webhook_id),
                ("url", webhook.url),
                ("events", ", ".join(webhook.events)),
                ("secret", webhook.secret),
            ]
        ),
    )


@command(app, "remove", "headway webhooks remove WEBHOOK")
def remove(session: "Session", webhook: WebhookId) -> None:
    """Remove an endpoint; its pending messages fail."""
    gone = session.send(protocol.webhooks.remove_webhook, id=webhook)
    session.show(gone, lambda: session.screen.line(f"Removed {gone.url}"))


@command(app, "deliveries", "headway webhooks deliveries --status failed")
def deliveries(
    session: "Session",
    status: Annotated[
        str | None, typer.Option("--status", help="pending, delivered or failed.")
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(
            "--job", metavar="JOB", help="Only about this job.", autocompletion=completion.jobs
        ),
    ] = None,
    limit: options.Limit = 20,
) -> None:
    """List messages to endpoints, newest first."""
    from headway.protocol.webhooks import DeliveryQuery

    job_id = session.send(protocol.jobs.get_job, id=job).job_id if job else None
    query = DeliveryQuery(status=status, job_id=job_id)
    page = session.some(protocol.webhooks.list_deliveries, limit, query=query)
    session.show(page, lambda: _table(session, page.items))


def _table(session: "Session", found: "list[Delivery]") -> None:
    """One line each; on a narrow screen the id and the error go below it."""
    from headway.cli.text.screen import Column

    columns = [Column(title) for title in ("JOB", "STATUS", "TRIES")]
    columns += [Column(title, elastic=True) for title in ("EVENT", "URL")]
    rows = [_row(session, one) for one in found]
    width = session.screen.width
    if width is None or width >= WIDE or not found:
        whole = [
            [one.delivery_id, *row, one.last_error or ""]
            for one, row in zip(found, rows, strict=True)
        ]
        columns = [Column("DELIVERY"), *columns, Column("ERROR", elastic=True)]
        session.screen.table(columns, whole)
        return
    title, *lines = session.screen.table_lines(columns, rows)
    session.screen.line(title)
    for one, line in zip(found, lines, strict=True):
        session.screen.line(line)
        below = f"  {one.delivery_id}  {one.last_error or ''}".rstrip()
        session.screen.line(session.screen.cut(below, width))


def _row(session: "Session", one: "Delivery") -> "list[Cell]":
    from headway.cli.text import words

    return [
        session.number(one.job_id),
        words.status(one.status),
        str(one.attempts),
        one.event,
        one.url,
    ]


@command(app, "redeliver", "headway webhooks redeliver DELIVERY")
def redeliver(session: "Session", delivery: DeliveryId) -> None:
    """Send a message again."""
    sent = session.send(protocol.webhooks.redeliver, id=delivery)
    session.show(sent, lambda: session.screen.line(f"Sending {sent.event} to {sent.url} again"))


@command(app, "secret", "headway webhooks secret")
def secret(session: "Session") -> None:
    """Show the secret that signs messages to a job's own URL."""
    found = session.send(protocol.webhooks.get_webhook_secret)
    session.show(found, lambda: session.screen.line(found.secret))
