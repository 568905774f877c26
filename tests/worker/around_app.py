"""An app with something around its handlers, for tests that run it in processes."""

import logging
from collections.abc import Iterator

import headway

app = headway.App()
log = logging.getLogger("shop")


@app.on_startup
def started() -> None:
    """Say so where a test looks."""
    print("started")


@app.on_shutdown
def ended() -> None:
    """Say so where a test looks."""
    print("ended")


@app.around
def notes(ctx: headway.JobContext) -> Iterator[None]:
    """Say in the log of the run what it came to."""
    log.info("begins %d", ctx.number)
    log.info("came to %s", (yield))


@app.job(isolation="process", give_up_on=KeyError)
def apart(fails: bool = False) -> str:
    """Run in a process of its own."""
    if fails:
        raise KeyError("fails")
    return "apart"
