"""Prometheus metrics: the questions an operator asks, answered from the database."""

import contextlib
from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from headway.domain import errors
from headway.scheduler.admit import lane_gates
from headway.scheduler.scheduler import Scheduler
from headway.storage import jobs, leases
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import limits, webhooks
from headway.storage.upkeep import passes


class Metrics:
    """Collects when it is asked, and only then."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Nothing: the database is read only when metrics are scraped."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every metric of one state of the database, and those of the server itself.

        While the database cannot be read, the server's own metrics remain: they say so.
        """
        with contextlib.suppress(errors.Unavailable):
            yield from self._scheduler.store.read(
                lambda tx: [*self._queue(tx), *self._work(tx), *_deliveries(tx)]
            )
        yield from self._writes()
        yield from self._observed()

    def _queue(self, tx: Transaction) -> Iterator[Metric]:
        depth = GaugeMetricFamily(
            "headway_jobs_waiting",
            "Waiting jobs, by queue, status and reason",
            labels=["queue", "status", "reason"],
        )
        age = GaugeMetricFamily(
            "headway_oldest_waiting_seconds",
            "How long the oldest waiting job has waited",
            labels=["queue", "status", "reason"],
        )
        counted = lane_gates.waiting_counts(self._scheduler, tx)
        for row in counted.rows:
            labels = [row.queue, row.status, row.reason]
            depth.add_metric(labels, row.count)
            age.add_metric(labels, (tx.now - row.oldest).total_seconds())
        yield depth
        yield age
        yield GaugeMetricFamily(
            "headway_waiting_counted_ago_seconds",
            "Age of the counts of waiting jobs; large counts are taken less often",
            value=(tx.now - counted.as_of).total_seconds(),
        )

    def _work(self, tx: Transaction) -> Iterator[Metric]:
        ended = CounterMetricFamily(
            "headway_jobs_ended", "Ended jobs, by status", labels=["status"]
        )
        for status, count in jobs.totals(tx).items():
            ended.add_metric([status], count)
        yield ended
        running = GaugeMetricFamily(
            "headway_leases", "Active leases, by queue and job type", labels=["queue", "job_type"]
        )
        counts = Counter((one.queue, one.job_type) for one in leases.current_jobs(tx))
        for labels, count in counts.items():
            running.add_metric(list(labels), count)
        yield running
        used = GaugeMetricFamily(
            "headway_limit_used", "How much of a limit is in use", labels=["limit"]
        )
        size = GaugeMetricFamily("headway_limit_size", "The size of a limit", labels=["limit"])
        for room in limits.rooms(tx, self._scheduler.concurrency).values():
            used.add_metric([room.name], room.used)
            if room.size is not None:
                size.add_metric([room.name], room.size)
        yield used
        yield size
        last = passes.read(tx).last
        if last is not None:
            yield GaugeMetricFamily(
                "headway_retention_ended_timestamp_seconds",
                "When a server last went through all that was old",
                value=last.at.timestamp(),
            )

    def _writes(self) -> Iterator[Metric]:
        store = self._scheduler.store
        commits, writes = store.counts
        yield CounterMetricFamily(
            "headway_commits", "Transactions committed by this server", value=commits
        )
        yield CounterMetricFamily("headway_writes", "Writes in those transactions", value=writes)
        yield GaugeMetricFamily(
            "headway_write_failing",
            "1 while the last write failed",
            value=int(store.problem is not None),
        )
        yield GaugeMetricFamily(
            "headway_deaf_seconds",
            "For how long wake-ups from other servers have not been heard",
            value=store.database.deaf_s,
        )

    def _observed(self) -> Iterator[Metric]:
        """What this server has seen itself: it begins anew with each start."""
        seen = self._scheduler.seen
        latency = HistogramMetricFamily(
            "headway_start_latency_seconds",
            "Time from ready to started, by queue",
            labels=["queue"],
        )
        for queue in list(seen.start_latency.counts):
            latency.add_metric(
                [queue], seen.start_latency.cumulative(queue), seen.start_latency.sums[queue]
            )
        yield latency
        run_time = HistogramMetricFamily(
            "headway_run_seconds", "How long runs took, by job type", labels=["job_type"]
        )
        for job_type in list(seen.run_time.counts):
            run_time.add_metric(
                [job_type], seen.run_time.cumulative(job_type), seen.run_time.sums[job_type]
            )
        yield run_time
        yield CounterMetricFamily(
            "headway_leases_expired",
            "Leases that expired without being renewed",
            value=seen.expired_leases,
        )
        removed = CounterMetricFamily(
            "headway_removed", "What this server removed because it was old", labels=["kind"]
        )
        for kind in ("jobs", "runs", "records"):
            removed.add_metric([kind], getattr(seen.removed, kind))
        yield removed


def _deliveries(tx: Transaction) -> Iterator[Metric]:
    deliveries = GaugeMetricFamily(
        "headway_deliveries", "Webhook deliveries, by status", labels=["status"]
    )
    for status, count in webhooks.counts(tx).items():
        deliveries.add_metric([status], count)
    yield deliveries
