"""`headway dashboard`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()


@command(app, "dashboard", "headway dashboard", "headway dashboard --print | ssh desk 'cat > link'")
def dashboard(
    session: "Session",
    anywhere: Annotated[
        bool, typer.Option("--print", help="Print it even if standard output is no terminal.")
    ] = False,
) -> None:
    """Print a fresh link to the dashboard; it works once and lets in as an admin."""
    from headway import wiring
    from headway.cli.text import words
    from headway.domain import errors

    if not session.screen.is_terminal and not anywhere:
        raise errors.InvalidRequest(
            "",
            "the link is a secret, and standard output is no terminal; to print it anyway: --print",
        )
    url = wiring.server_url(session.settings)
    if url is None:
        raise errors.NeedsServer("the dashboard belongs to a server")
    code = session.send(protocol.direct.create_dashboard_code)
    link = f"{url.rstrip('/')}/#code={code.code}"

    def render() -> None:
        session.screen.line(link)
        session.screen.note(
            f"It works once, within {words.span(code.expires_in_s)}, and lets that browser in as "
            f"an admin for {words.span(code.session_lasts_s)}."
        )

    session.show({"url": link, "expires_in_s": code.expires_in_s}, render)
