"""`headway top`."""

import shutil
import time
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()

HOME, CLEAR_REST, CLEAR_LINE = "\x1b[H", "\x1b[J", "\x1b[K"
OWN_SCREEN, OLD_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


@command(app, "top", "headway top", "headway top --once", "headway top --every 5")
def top(
    session: "Session",
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=0.2, help="Seconds between updates.")
    ] = 1.0,
) -> None:
    """Show running and waiting jobs, updated live."""
    from headway.cli import top_text
    from headway.client import calls

    if session.screen.json:
        session.screen.value(session.send(calls.get_scheduler_status()))
    elif once or not session.screen.is_terminal:
        for line in top_text.screenful(session, None):
            session.screen.line(line)
    else:
        _redraw(session, every)


def _redraw(session: "Session", every: float) -> None:
    """Until Ctrl-C, which is the way to leave here and no failure."""
    from headway.cli import top_text

    print(OWN_SCREEN, end="")
    try:
        while True:
            session.screen.width, height = shutil.get_terminal_size((80, 24))
            lines = top_text.screenful(session, height)[: height - 1]
            drawn = "".join(f"{line}{CLEAR_LINE}\n" for line in lines)
            print(f"{HOME}{drawn}{CLEAR_REST}", end="", flush=True)
            time.sleep(every)
    except KeyboardInterrupt:
        pass
    finally:
        print(OLD_SCREEN, end="", flush=True)
