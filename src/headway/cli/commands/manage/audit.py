"""`headway audit`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()


@command(app, "audit", "headway audit", "headway audit --action revoke_token --limit 10")
def audit(
    session: "Session",
    actor: Annotated[
        str | None, typer.Option("--actor", help="Only changes by this token or user.")
    ] = None,
    action: Annotated[
        str | None, typer.Option("--action", help="Only this action, e.g. revoke_token.")
    ] = None,
    limit: options.Limit = 50,
) -> None:
    """Show who changed what, newest first, and refused logins."""
    from headway.cli.text import words
    from headway.cli.text.screen import Column

    page = session.some(
        protocol.tokens.list_audit,
        limit,
        query=protocol.tokens.AuditQuery(actor=actor, action=action),
    )
    columns = [Column("AGE"), Column("ACTOR"), Column("ROLE"), Column("ACTION")]
    session.show(
        page,
        lambda: session.screen.table(
            [*columns, Column("TARGET", elastic=True)],
            [
                [words.age(one.at), one.actor, one.role or "", one.action, one.target or ""]
                for one in page.items
            ],
        ),
    )
