"""Start, memory and idleness of a server and its children with many jobs queued."""

import time
from typing import NamedTuple

from bench import remote
from bench.bed import bed
from bench.cost import cpu_s, resident_mb
from bench.drain import fill


class Idle(NamedTuple):
    """A server that has nothing to do, with everything below it."""

    start_s: float
    resident_mb: float
    cpu_percent: float


def idle(count: int) -> Idle:
    """A server with so many jobs that no worker takes."""
    with bed() as scheduler:
        fill(scheduler, count, job_type="nobody takes this")
        began = time.perf_counter()
        with remote.serving(data=scheduler.data, app="bench.handlers:app") as served:
            start_s = time.perf_counter() - began
            time.sleep(2)
            before = cpu_s(served.pid)
            time.sleep(10)
            used = cpu_s(served.pid) - before
            return Idle(start_s, resident_mb(served.pid), used / 10 * 100)
