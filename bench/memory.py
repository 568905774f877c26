"""Memory and idleness of a process with many jobs queued."""

import resource
import time

from bench.bed import bed, working
from bench.drain import fill


def idle(count: int) -> tuple[float, float]:
    """Resident megabytes with so many jobs that no worker takes, and CPU percent while idle."""
    with bed() as scheduler:
        fill(scheduler, count, job_type="nobody takes this")
        with working(scheduler, 4):
            time.sleep(2)
            before = resource.getrusage(resource.RUSAGE_SELF)
            time.sleep(10)
            after = resource.getrusage(resource.RUSAGE_SELF)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _resident_mb(), used / 10 * 100


def _resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6
