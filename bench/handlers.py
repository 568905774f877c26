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
