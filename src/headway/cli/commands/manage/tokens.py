"""`headway tokens …`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import options
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Styled
    from headway.domain.manage.tokens import Token

app = commands()


@command(app, "list", "headway tokens list")
def list_tokens(session: "Session", limit: options.Limit = 50) -> None:
    """List tokens, newest first, including revoked ones."""
    from headway.cli.text import words
    from headway.cli.text.screen import Column

    page = session.some(protocol.tokens.list_tokens, limit)
    columns = [
        Column("TOKEN"),
        Column("NAME", elastic=True),
        Column("ROLE"),
        Column("AGE"),
        Column("USED"),
    ]
    session.show(
        page,
        lambda: session.screen.table(
            [*columns, Column("STATE")],
            [
                [
                    token.token_id,
                    token.name,
                    token.role.value,
                    words.age(token.created_at),
                    words.age(token.last_used_at) if token.last_used_at else "never",
                    _standing(token),
                ]
                for token in page.items
            ],
        ),
    )


def _standing(token: "Token") -> "Styled":
    from headway.cli.text import words
    from headway.cli.text.screen import Styled

    if token.revoked_at:
        return Styled("revoked", "red")
    if token.expires_at is None:
        return Styled("good", "green")
    left_s = (token.expires_at - datetime.now(UTC)).total_seconds()
    if left_s <= 0:
        return Styled("over", "red")
    return Styled(f"good for {words.span(left_s)}", "green")


@command(app, "create", "headway tokens create ci --role submit --expires 30d")
def create(
    session: "Session",
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of its owner or purpose.", show_default=False),
    ],
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="read, submit, work or admin.")
    ] = "read",
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="SPAN", help="How long it is in force, e.g. 30d."),
    ] = None,
) -> None:
    """Create a token; it is shown only once."""
    from headway.domain import errors
    from headway.domain.manage.tokens import Role
    from headway.domain.values import durations

    if role not in list(Role):
        raise errors.InvalidRequest("role", f"{role!r} is not one of {', '.join(Role)}")
    lasts_s = None if expires is None else durations.parse(expires)
    token = session.send(
        protocol.tokens.create_token,
        body=protocol.tokens.TokenRequest(name=name, role=Role(role), expires_in_s=lasts_s),
    )

    def render() -> None:
        session.screen.line(str(token.token))
        session.screen.note(
            f"It is not shown again. To revoke it: headway tokens revoke {token.token_id}"
        )

    session.show(token, render)


@command(app, "rotate", "headway tokens rotate")
def rotate(session: "Session") -> None:
    """Replace the data directory's own admin token; the old one is revoked."""
    import msgspec

    from headway import admin_token
    from headway.files import token_file
    from headway.operations.local import local_principal

    scheduler = session.open_scheduler()
    made = admin_token.rotate(session.settings.data_dir, scheduler, local_principal())
    path = session.settings.data_dir / token_file.NAME
    session.show(
        msgspec.structs.replace(made, token=None),
        lambda: session.screen.line(f"Wrote a new admin token to {path}; the old one is revoked"),
    )


@command(app, "revoke", "headway tokens revoke TOKEN")
def revoke(
    session: "Session",
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Token id.", show_default=False)],
) -> None:
    """Revoke a token; it stops working."""
    revoked = session.send(protocol.tokens.revoke_token, id=token_id)
    session.show(revoked, lambda: session.screen.line(f"Revoked token {revoked.name}"))
