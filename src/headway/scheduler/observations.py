"""What this process has seen: how long jobs waited for their start, and how long they ran.

Kept in memory only, for the metrics of this process; the database holds everything that matters.
"""

import bisect
import threading
from collections import Counter
from collections.abc import Sequence

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600)


class Histogram:
    """Counts by size, and their sum, for each label."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: dict[str, list[int]] = {}
        self.sums: dict[str, float] = {}

    def add(self, label: str, spans: Sequence[float]) -> None:
        """Some more, in seconds; a clock that was set back makes no time negative."""
        with self._lock:
            counts = self.counts.setdefault(label, [0] * (len(BUCKETS_S) + 1))
            for seconds, times in Counter(spans).items():
                counts[bisect.bisect_left(BUCKETS_S, seconds)] += times
            self.sums[label] = self.sums.get(label, 0.0) + max(0.0, sum(spans))

    def cumulative(self, label: str) -> list[tuple[str, float]]:
        """How many were at most as large as each bucket."""
        total = 0
        found = []
        names = [*(f"{bound:g}" for bound in BUCKETS_S), "+Inf"]
        for name, count in zip(names, self.counts[label], strict=True):
            total += count
            found.append((name, float(total)))
        return found


class Removed:
    """How much was removed because it was old."""

    def __init__(self) -> None:
        self.jobs = self.runs = self.records = 0

    def add(self, jobs: int, runs: int, records: int) -> None:
        """Some more."""
        self.jobs += jobs
        self.runs += runs
        self.records += records


class Observations:
    """Everything that is observed."""

    def __init__(self) -> None:
        self.start_latency = Histogram()
        self.run_time = Histogram()
        self.job_types: dict[int, str] = {}
        """By lane, as the labels of `run_time`: asked for so often that they are kept."""
        self.expired_leases = 0
        self.removed = Removed()
