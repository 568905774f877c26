"""Latency: from submit to the start of the handler, on an idle system."""

import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.bed import bed, working
from bench.handlers import stamp

IN_MEMORY = Path("/dev/shm")
PAGE = bytes(4096)


@dataclass(frozen=True)
class Times:
    """Milliseconds that something took, again and again."""

    p50: float
    p99: float


def built_in(count: int, db: str | None = None, parent: Path | None = None) -> Times:
    """From submit to start; the store is made below a folder."""
    with bed(db, parent=parent) as scheduler, working(scheduler, 4):
        times = []
        for _ in range(count):
            times.append(stamp.submit(sent=time.perf_counter()).result(timeout=30) * 1000)
            time.sleep(0.005)
    return _times(times)


def fsync(count: int) -> Times:
    """A page appended to a file, and the disk asked to have it."""
    times = []
    with tempfile.TemporaryFile(prefix="headway-bench-") as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(PAGE)
            file.flush()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.005)
    return _times(times)


def _times(times: list[float]) -> Times:
    times.sort()
    return Times(statistics.median(times), times[int(len(times) * 0.99)])
