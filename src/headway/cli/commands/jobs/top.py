"""`headway top`."""

import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()

HOME, CLEAR_REST, CLEAR_LINE = "\x1b[H", "\x1b[J", "\x1b[K"
LEAVE = (b"q", b"Q", b"")  # nothing comes from a terminal that was closed
OWN_SCREEN, OLD_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


@command(app, "top", "headway top", "headway top --once", "headway top --every 5")
def top(
    session: "Session",
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=0.2, help="Seconds between updates.")
    ] = 1.0,
) -> None:
    """Show running and waiting jobs, updated live; q quits."""
    from headway.cli.text import top_text

    if session.screen.json:
        session.screen.value(session.send(protocol.queue.get_scheduler_status))
    elif once or not session.screen.is_terminal:
        for line in top_text.screenful(session, None):
            session.screen.line(line)
    else:
        _redraw(session, every)


def _redraw(session: "Session", every: float) -> None:
    """Until q or Ctrl-C, which ends this command without a failure."""
    from headway.cli.text import top_text

    print(OWN_SCREEN, end="")
    try:
        with _keys() as keys:
            while True:
                session.screen.width, height = shutil.get_terminal_size((80, 24))
                lines = top_text.screenful(session, height)[: height - 1]
                drawn = "".join(f"{line}{CLEAR_LINE}\n" for line in lines)
                print(f"{HOME}{drawn}{CLEAR_REST}", end="", flush=True)
                ready, _, _ = select.select(keys, [], [], every)
                if ready and os.read(ready[0], 100) in LEAVE:
                    return
    except KeyboardInterrupt:
        pass
    finally:
        print(OLD_SCREEN, end="", flush=True)


@contextmanager
def _keys() -> Iterator[list[int]]:
    """The keyboard, if there is one: keys come at once and are not shown."""
    if not sys.stdin.isatty():
        yield []
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    try:
        yield [keyboard]
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
