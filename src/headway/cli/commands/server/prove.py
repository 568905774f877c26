"""`headway prove`: the crash test, on the user's own disk or database."""

import random
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import INTERRUPTED, command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()

Minutes = Annotated[float, typer.Option("--minutes", min=0.01, help="How long to kill for.")]
Kills = Annotated[
    int | None, typer.Option("--kills", min=1, help="Stop after so many kills, if that is sooner.")
]
Cuts = Annotated[
    int,
    typer.Option("--cuts", min=0, help="How many power-cut images of the files to check (SQLite)."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Choose the same victims again.")]
Control = Annotated[
    str | None,
    typer.Option(
        "--control",
        metavar="FAULT",
        help="Plant a fault, which must be found: lost-submit, lost-finish, doubled-run or"
        " broken-order.",
    ),
]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the directory and the schema.")]


@command(
    app,
    "prove",
    "headway prove",
    "headway prove --minutes 10 --cuts 100",
    "headway prove --db postgresql://localhost/headway --kills 500",
    "headway prove --control lost-submit   # must fail",
)
def prove(
    session: "Session",
    minutes: Minutes = 1.0,
    kills: Kills = None,
    cuts: Cuts = 10,
    seed: Seed = None,
    control: Control = None,
    keep: Keep = False,
) -> None:
    """Kill servers, workers and clients at random, and check that nothing is lost or doubled."""
    import msgspec

    from headway.cli.text.bar import Bar
    from headway.domain import errors
    from headway.prove import places, proof
    from headway.prove.chaos import Plan
    from headway.prove.controls import CONTROLS
    from headway.prove.oracle import report

    if control is not None and control not in CONTROLS:
        raise errors.InvalidRequest("--control", f"{control!r} is not one of {', '.join(CONTROLS)}")
    chosen = random.SystemRandom().randrange(2**31) if seed is None else seed
    plan = Plan(minutes=minutes, kills=kills, cuts=cuts, seed=chosen, control=control)
    place = places.choose(session.settings.data_dir, session.settings.db)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as a Ctrl-C: clean up, and report
    try:
        with Bar("prove") as bar:
            done = proof.prove(place, plan, bar.draw)
    except BaseException:
        place.remove()
        raise
    if keep:
        done = msgspec.structs.replace(done, kept=place.where)
    elif done.kept is None:
        place.remove()

    def render() -> None:
        for line in report.lines(done):
            session.screen.line(line)

    session.show(done, render)
    if not done.passed:
        raise typer.Exit(1)
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)
