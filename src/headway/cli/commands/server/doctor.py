"""`headway doctor`."""

from typing import TYPE_CHECKING

import typer

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()


@command(app, "doctor", "headway doctor", "headway doctor --json")
def doctor(session: "Session") -> None:
    """Diagnose the setup and suggest fixes."""
    from headway.cli import checkup
    from headway.cli.text.screen import Styled, clean

    findings = checkup.examine(session)
    ill = [one for one in findings if not one.ok]

    def render() -> None:
        for one in findings:
            sign = Styled("ok     ", "green") if one.ok else Styled("problem", "red")
            session.screen.line(sign, f"  {one.subject:<11}  {clean(one.detail)}")
            if one.mend:
                session.screen.line(" " * 22, f"fix: {one.mend}")
        count = "1 problem" if len(ill) == 1 else f"{len(ill)} problems"
        session.screen.line(count if ill else "No problems found")

    session.show({"ok": not ill, "findings": findings}, render)
    if ill:
        raise typer.Exit(1)
