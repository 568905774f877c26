"""The handlers of the benchmarks; processes that run them import nothing else of these."""

import time

import headway

app = headway.App()


@app.job
def noop() -> None:
    """Do nothing."""


@app.job
def stamp(sent: float) -> float:
    """How long ago the job was sent."""
    return time.perf_counter() - sent


def same(number: int) -> int:
    """A step that does nothing."""
    return number


@app.job
def steps(ctx: headway.JobContext, count: int) -> None:
    """Do so many steps."""
    for number in range(count):
        ctx.step(same, number)


@app.job
def family(ctx: headway.JobContext, count: int) -> int:
    """Let children do nothing, and wait for all of them."""
    return len(ctx.map(noop, [{}] * count))


@app.job
def sleeper(ctx: headway.JobContext) -> None:
    """Wait for longer than any benchmark lasts."""
    ctx.sleep("30d")
