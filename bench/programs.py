"""Programs: steps beside DBOS, children beside flat jobs, and what suspended jobs cost."""

import time

from bench import dbos_peer, drain
from bench.bed import bed, handlers, working
from bench.cost import Cost, Meter
from bench.table import against, say, say_cost
from headway.domain.requests.job_requests import JobRequest
from headway.scheduler.explain import journals
from headway.storage import steps as kept


def programs(shrink: int, db: str | None) -> None:
    """Print all of it."""
    with dbos_peer.installed() as dbos:
        for at_work in (1, 10, 100):
            each = 10_000 // shrink // at_work
            theirs, ours = dbos.steps(at_work, each), steps(at_work, each, db)
            say_cost(f"DBOS on SQLite, {at_work} programs at once", theirs)
            say_cost(f"{at_work} programs at once, a step", ours, against(ours, theirs, "DBOS"))
    count = 10_000 // shrink
    flat, joined = flat_jobs(count, db), children(count, db)
    say_cost(f"{count:,} flat jobs, submitted and drained", flat)
    say_cost(f"{count:,} children and their join", joined, against(joined, flat, "flat jobs"))
    replayed(1000, db)
    beside_suspended(100_000 // shrink, db)


def steps(at_work: int, each: int, db: str | None = None) -> Cost:
    """Programs at once, each with so many steps."""
    with bed(db) as scheduler, handlers(at_work) as pool:
        request = JobRequest(job_type="steps", params={"count": each})
        drain.submit_many(scheduler, [request] * at_work)
        meter = Meter()
        with working(scheduler, at_work, pool):
            drain.wait_for(scheduler, at_work)
            return meter.cost(at_work * each)


def flat_jobs(count: int, db: str | None = None, slots: int = 100) -> Cost:
    """Jobs that no program waits for, with their submit."""
    with bed(db) as scheduler, handlers(slots) as pool:
        meter = Meter()
        drain.submit_many(scheduler, [JobRequest(job_type="noop")] * count)
        with working(scheduler, slots, pool):
            drain.wait_for(scheduler, count)
            return meter.cost(count)


def children(count: int, db: str | None = None, slots: int = 100) -> Cost:
    """The same jobs as children of one program, and their results together."""
    with bed(db) as scheduler, handlers(slots) as pool:
        meter = Meter()
        request = JobRequest(job_type="family", params={"count": count})
        drain.submit_many(scheduler, [request])
        with working(scheduler, slots, pool):
            drain.wait_for(scheduler, count + 1)
            return meter.cost(count)


def replayed(count: int, db: str | None = None) -> None:
    """How long it takes to read a journal, as the claim of its job does."""
    with bed(db) as scheduler, handlers(1) as pool:
        request = JobRequest(job_type="steps", params={"count": count})
        drain.submit_many(scheduler, [request])
        with working(scheduler, 1, pool):
            drain.wait_for(scheduler, 1)
        began = time.perf_counter()
        (journal,) = scheduler.store.read(lambda tx: journals.to_send(tx, [1])).values()
        taken_ms = (time.perf_counter() - began) * 1000
        assert journal is not None
        say(f"a journal of {len(journal):,} steps is read", f"{taken_ms:.1f} ms")


def beside_suspended(count: int, db: str | None = None, slots: int = 100) -> None:
    """A drain beside so many jobs that sleep, and without them."""
    few = 20_000
    alone = drain.drain(few, slots, db)
    with bed(db) as scheduler, handlers(slots) as pool:
        drain.fill(scheduler, count, "sleeper")
        with working(scheduler, slots, pool):
            while scheduler.store.read(lambda tx: kept.count_suspended(tx)) < count:
                time.sleep(0.1)
            drain.fill(scheduler, few)
            meter = Meter()
            drain.wait_for(scheduler, few)
            beside = meter.cost(few)
    say_cost(f"{few:,} jobs, {slots} slots", alone)
    say_cost(f"beside {count:,} suspended", beside, against(beside, alone, "without them"))
