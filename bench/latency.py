"""Latency: from submit to the start of the handler, on an idle system."""

import statistics
import time

from bench.bed import bed, stamp, working


def built_in(count: int, db: str | None = None) -> tuple[float, float]:
    """p50 and p99 in milliseconds."""
    with bed(db) as scheduler, working(scheduler, 4):
        times = []
        for _ in range(count):
            times.append(stamp.submit(sent=time.perf_counter()).result(timeout=30) * 1000)
            time.sleep(0.005)
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.99)]
