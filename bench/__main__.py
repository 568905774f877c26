"""`script/bench [--quick] [section …]`: prints figures and ratios, never judges."""

import argparse
import contextlib
from collections.abc import Callable

from bench import (
    backlog,
    dag,
    drain,
    floor,
    growth,
    latency,
    memory,
    peers,
    postgres,
    programs,
    recovery,
    remote,
    requests,
    servers,
    submit,
)
from bench.table import against, say, say_cost
from headway.domain.requests.job_requests import BatchJobRequest

BATCHES = (1, 4, 100, 400, 1000)


def main() -> None:
    """Run the sections that were asked for, or all but the peers."""
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--db", help="postgresql://…: a server that is there already")
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    names = given.sections or [name for name in SECTIONS if name not in ASKED_FOR]
    with contextlib.ExitStack() as stack:
        db = given.db
        if given.store == "postgres" and db is None:
            db = stack.enter_context(postgres.server())
        for name in names:
            print(f"\n{name}", flush=True)
            SECTIONS[name](10 if given.quick else 1, db)


def _floor(shrink: int, db: str | None) -> None:
    for batch in (1, 100):
        cost = floor.submit(_enough(batch, shrink), batch)
        say_cost(f"plain SQLite, submit, {batch} a transaction", cost)
    for batch in BATCHES:
        cost = floor.claim_and_done(_enough(batch, shrink), batch)
        say_cost(f"plain SQLite, claim + done, {batch} at once", cost)


def _submit(shrink: int, db: str | None) -> None:
    bare, alone = floor.submit(5000 // shrink, 1), submit.alone(5000 // shrink, db)
    say_cost("plain SQLite, one a transaction", bare)
    say_cost("one caller, one transaction each", alone, against(alone, bare, "plain SQLite"))
    bare = floor.submit(100_000 // shrink, 1000)
    bulk = submit.bulk(100_000 // shrink, 1000, db)
    say_cost("plain SQLite, 1,000 a transaction", bare)
    say_cost("one caller, 1,000 a transaction", bulk, against(bulk, bare, "plain SQLite"))
    for callers in (50, 200, 1000):
        cost = submit.tasks(50_000 // shrink, callers, db)
        say_cost(f"{callers} asyncio tasks", cost, f"{cost.rate / alone.rate:.1f}x of one caller")
    cost = submit.threads(20_000 // shrink, 50, db)
    say_cost("50 threads", cost, f"{cost.rate / alone.rate:.1f}x of one caller")


def _drain(shrink: int, db: str | None) -> None:
    for slots in BATCHES:
        count = _enough(slots, shrink)
        bare, cost = floor.claim_and_done(count, slots), drain.drain(count, slots, db)
        say_cost(f"plain SQLite, claim + done, {slots} at once", bare)
        say_cost(f"{slots} slots", cost, against(cost, bare, "plain SQLite"))


def _enough(batch: int, shrink: int) -> int:
    """So many jobs that a figure takes seconds, whatever the size of a batch."""
    return min(4000 + 600 * batch, 60_000) // shrink


def _http(shrink: int, db: str | None) -> None:
    for connections in (1, 50):
        count = (3000 if connections == 1 else 15_000) // shrink
        bare = requests.echoes(count, connections)
        cost = requests.submits(count, connections, db)
        what = f"{connections} connection{'s' if connections > 1 else ''}"
        say_cost(f"a bare echo, {what}", bare)
        say_cost(f"POST /api/jobs, {what}", cost, against(cost, bare, "the echo"))


def _latency(shrink: int, db: str | None) -> None:
    count = 500 // shrink
    if db is None and latency.IN_MEMORY.is_dir():
        without = latency.built_in(count, parent=latency.IN_MEMORY)
        say("submit to start, no disk", f"p50 {without.p50:.1f} ms", f"p99 {without.p99:.1f} ms")
    disk, ours = latency.fsync(count), latency.built_in(count, db)
    say("the disk alone: 4 KiB and fdatasync", f"p50 {disk.p50:.1f} ms", f"p99 {disk.p99:.1f} ms")
    ratio = f"p99 {ours.p99:.1f} ms, {ours.p99 / disk.p99:.1f}x of the disk's"
    say("submit to start, on disk", f"p50 {ours.p50:.1f} ms", ratio)


def _backlog(shrink: int, db: str | None) -> None:
    for kind in backlog.KINDS:
        few = backlog.cost(kind, 1000, db)
        many = backlog.cost(kind, 1_000_000 // shrink, db)
        say(f"claim + finish beside 1,000 ({kind})", f"{few:,.0f} us")
        say(f"beside {1_000_000 // shrink:,}", f"{many:,.0f} us", f"{many / few:.2f}x")


def _dag(shrink: int, db: str | None) -> None:
    count = 100_000 // shrink
    _, plain = dag.drain(dag.flat(count), db)
    say_cost(f"{count:,} jobs without edges", plain)
    shapes: dict[str, Callable[[], list[BatchJobRequest]]] = {
        "layers, 10 edges a job": lambda: dag.layers(count),
        "join": lambda: dag.join(count // 2),
        "chain": lambda: dag.chain(count // 10),
        "4 layers : 5 join : 1 chain, in one batch": lambda: dag.together(
            dag.layers(count * 4 // 10), dag.join(count // 2), dag.chain(count // 10)
        ),
    }
    costs = {}
    for name, make in shapes.items():
        seconds, cost = dag.drain(make(), db)
        costs[name] = cost
        ratio = f"{cost.rate / plain.rate:.2f}x of flat, submitted in {seconds:.1f} s"
        say_cost(name, cost, ratio)
    alone = drain.drain(count // 20, 1, db)
    say_cost("without edges, one at a time", alone)
    say("", "", f"a link of the chain is {against(costs['chain'], alone, 'it')}")


def _memory(shrink: int, db: str | None) -> None:
    count = 1_000_000 // shrink
    idle = memory.idle(count)
    what = f"resident with {count:,} jobs queued, children included"
    say(what, f"{idle.resident_mb:.0f} MB", f"{idle.cpu_percent:.2f} % CPU idle")
    say("start until it listens", f"{idle.start_s:.2f} s")


def _recovery(shrink: int, db: str | None) -> None:
    running, queued = 10_000 // shrink, 1_000_000 // shrink
    seconds, peak_mb, mended = recovery.recover(running, queued, db)
    what = f"{mended:,} running, {queued:,} queued"
    say(what, f"{seconds:.1f} s", f"{peak_mb:.0f} MB at most")


def _remote(shrink: int, db: str | None) -> None:
    for slots in (100, 400, 1000):
        cost = remote.drain(20_000 // shrink, slots, db)
        say_cost(f"drain over HTTP, {slots} slots", cost, "(CPU of the server)")
    median, late = remote.latency(300 // shrink, db)
    say("submit to start over HTTP", f"p50 {median:.1f} ms", f"p99 {late:.1f} ms")
    cpu, resident = remote.idle(1000, 30 / min(shrink, 3), db)
    say("1,000 idle workers", f"{cpu:.1f} % CPU", f"{resident:.0f} MB")
    took, commits = remote.heartbeats(10_000, 10, db)
    say("heartbeats of 10,000 leases", f"{took:,.0f} ms", f"{commits:.1f} transactions a round")


def _servers(shrink: int, db: str | None) -> None:
    if db is None:
        return say("several servers are measured with", "--store postgres")
    for away_ms in (0.0, 5.0):
        for limited in (True, False):
            what = f"{'one limit for all' if limited else 'no limit'}, {2 * away_ms:g} ms away"
            rates = [
                servers.drain(20_000 // shrink, many, 100, db, limited=limited, away_ms=away_ms)
                for many in (1, 2, 3)
            ]
            say(f"1 server, {what}", f"{rates[0]:,.0f}/s")
            for many, rate in enumerate(rates[1:], 2):
                say(f"{many} servers", f"{rate:,.0f}/s", f"{rate / rates[0]:.2f}x")
    return None


def _dead(shrink: int, db: str | None) -> None:
    if db is None:
        return say("a dead backlog is measured with", "--store postgres")
    dead = 1_000_000 // shrink
    few = servers.drain_beside_the_dead(20_000 // shrink, 1000, db)
    many = servers.drain_beside_the_dead(20_000 // shrink, dead, db)
    say("drain beside 1,000 that ended", f"{few:,.0f}/s")
    say(f"beside {dead:,}", f"{many:,.0f}/s", f"{many / few:.2f}x")
    return None


def _growth(shrink: int, db: str | None) -> None:
    ended, waiting = 5_000_000, 1_000_000
    if shrink > 1:
        ended, waiting = 200_000, 50_000
    with growth.grown(ended, waiting, db) as store:
        say(f"{ended:,} ended, {waiting:,} waiting: start", f"{store.started_s * 1000:,.0f} ms")
        for read in growth.reads(store):
            say(read.path, f"{read.p50_ms:,.1f} ms", f"{read.size:,} bytes")
        say("headway top --once, with its start", f"{growth.top(store.served):,.0f} ms")


def _peers(shrink: int, db: str | None) -> None:
    if db is None:
        return peers.on_sqlite(shrink)
    return peers.on_postgres(shrink, db)


SECTIONS: dict[str, Callable[[int, str | None], None]] = {
    "floor": _floor,
    "submit": _submit,
    "drain": _drain,
    "http": _http,
    "latency": _latency,
    "backlog": _backlog,
    "dag": _dag,
    "memory": _memory,
    "recovery": _recovery,
    "remote": _remote,
    "growth": _growth,
    "servers": _servers,
    "dead": _dead,
    "peers": _peers,
    "programs": programs.programs,
}
ASKED_FOR = ("growth", "servers", "dead", "peers", "programs")
"""Sections that run only when they are named."""

if __name__ == "__main__":
    main()
