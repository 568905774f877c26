"""`script/bench [--quick] [section …]`: prints figures and ratios, never judges."""

import argparse
import contextlib
from collections.abc import Callable

from bench import (
    backlog,
    dag,
    drain,
    floor,
    huey_peer,
    latency,
    memory,
    postgres,
    postgres_peers,
    recovery,
    remote,
    servers,
    submit,
)
from headway.domain.requests.job_requests import BatchJobRequest


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


def _say(what: str, figure: str, ratio: str = "") -> None:
    print(f"  {what:<44}{figure:>16}  {ratio}", flush=True)


def _floor(shrink: int, db: str | None) -> None:
    _say("plain SQLite, one job a transaction", f"{floor.rate(2000 // shrink, 1):,.0f}/s")
    _say("plain SQLite, 100 jobs a transaction", f"{floor.rate(100_000 // shrink, 100):,.0f}/s")


def _submit(shrink: int, db: str | None) -> None:
    alone = submit.alone(5000 // shrink, db)
    _say("one caller, one transaction each", f"{alone:,.0f}/s")
    for callers in (50, 200, 1000):
        rate = submit.tasks(50_000 // shrink, callers, db)
        _say(f"{callers} asyncio tasks", f"{rate:,.0f}/s", f"{rate / alone:.1f}x of one caller")
    rate = submit.threads(20_000 // shrink, 50, db)
    _say("50 threads", f"{rate:,.0f}/s", f"{rate / alone:.1f}x of one caller")


def _drain(shrink: int, db: str | None) -> None:
    bare = floor.rate(100_000 // shrink, 100)
    for slots in (100, 400, 1000):
        rate, cpu = drain.drain(60_000 // shrink, slots, db)
        ratio = f"{rate / bare:.2f}x of plain SQLite, {cpu:.0f} us CPU a job"
        _say(f"{slots} slots", f"{rate:,.0f}/s", ratio)


def _latency(shrink: int, db: str | None) -> None:
    median, late = latency.built_in(500 // shrink, db)
    _say("submit to start, built in", f"p50 {median:.1f} ms", f"p99 {late:.1f} ms")


def _backlog(shrink: int, db: str | None) -> None:
    for kind in backlog.KINDS:
        few = backlog.cost(kind, 1000, db)
        many = backlog.cost(kind, 1_000_000 // shrink, db)
        _say(f"claim + finish beside 1,000 ({kind})", f"{few:,.0f} us")
        _say(f"beside {1_000_000 // shrink:,}", f"{many:,.0f} us", f"{many / few:.2f}x")


def _dag(shrink: int, db: str | None) -> None:
    count = 100_000 // shrink
    _, plain = dag.drain(dag.flat(count), db)
    _say(f"{count:,} jobs without edges", f"{plain:,.0f}/s")
    shapes: dict[str, Callable[[], list[BatchJobRequest]]] = {
        "layers, 10 edges a job": lambda: dag.layers(count),
        "join": lambda: dag.join(count // 2),
        "chain": lambda: dag.chain(count // 10),
        "4 layers : 5 join : 1 chain, in one batch": lambda: dag.together(
            dag.layers(count * 4 // 10), dag.join(count // 2), dag.chain(count // 10)
        ),
    }
    rates = {}
    for name, make in shapes.items():
        seconds, rates[name] = dag.drain(make(), db)
        ratio = f"{rates[name] / plain:.2f}x of flat, submitted in {seconds:.1f} s"
        _say(name, f"{rates[name]:,.0f}/s", ratio)
    alone, _ = drain.drain(count // 20, 1, db)
    ratio = f"the chain is {rates['chain'] / alone:.2f}x of it"
    _say("without edges, one at a time", f"{alone:,.0f}/s", ratio)


def _memory(shrink: int, db: str | None) -> None:
    count = 1_000_000 // shrink
    resident, cpu = memory.idle(count)
    _say(f"resident with {count:,} jobs queued", f"{resident:.0f} MB", f"{cpu:.2f} % CPU idle")


def _recovery(shrink: int, db: str | None) -> None:
    running, queued = 10_000 // shrink, 1_000_000 // shrink
    seconds, peak_mb, mended = recovery.recover(running, queued, db)
    what = f"{mended:,} running, {queued:,} queued"
    _say(what, f"{seconds:.1f} s", f"{peak_mb:.0f} MB at most")


def _remote(shrink: int, db: str | None) -> None:
    for slots in (100, 400, 1000):
        rate = remote.drain(20_000 // shrink, slots, db)
        _say(f"drain over HTTP, {slots} slots", f"{rate:,.0f}/s")
    median, late = remote.latency(300 // shrink, db)
    _say("submit to start over HTTP", f"p50 {median:.1f} ms", f"p99 {late:.1f} ms")
    cpu, resident = remote.idle(1000, 30 / min(shrink, 3), db)
    _say("1,000 idle workers", f"{cpu:.1f} % CPU", f"{resident:.0f} MB")
    took, commits = remote.heartbeats(10_000, 10, db)
    _say("heartbeats of 10,000 leases", f"{took:,.0f} ms", f"{commits:.1f} transactions a round")


def _servers(shrink: int, db: str | None) -> None:
    if db is None:
        return _say("several servers are measured with", "--store postgres")
    for away_ms in (0.0, 5.0):
        for limited in (True, False):
            what = f"{'one limit for all' if limited else 'no limit'}, {2 * away_ms:g} ms away"
            rates = [
                servers.drain(20_000 // shrink, many, 100, db, limited=limited, away_ms=away_ms)
                for many in (1, 2, 3)
            ]
            _say(f"1 server, {what}", f"{rates[0]:,.0f}/s")
            for many, rate in enumerate(rates[1:], 2):
                _say(f"{many} servers", f"{rate:,.0f}/s", f"{rate / rates[0]:.2f}x")
    return None


def _dead(shrink: int, db: str | None) -> None:
    if db is None:
        return _say("a dead backlog is measured with", "--store postgres")
    dead = 1_000_000 // shrink
    few = servers.drain_beside_the_dead(20_000 // shrink, 1000, db)
    many = servers.drain_beside_the_dead(20_000 // shrink, dead, db)
    _say("drain beside 1,000 that ended", f"{few:,.0f}/s")
    _say(f"beside {dead:,}", f"{many:,.0f}/s", f"{many / few:.2f}x")
    return None


def _peers(shrink: int, db: str | None) -> None:
    if db is not None:
        return _postgres_peers(shrink, db)
    peer = huey_peer.drain(20_000 // shrink)
    ours, _ = drain.drain(60_000 // shrink, 100)
    _say("Huey on SQLite, 4 threads", f"{peer:,.0f}/s")
    _say("Headway, 100 slots", f"{ours:,.0f}/s", f"{ours / peer:.1f}x")
    return None


def _postgres_peers(shrink: int, db: str) -> None:
    with postgres_peers.installed() as peers, postgres_peers.oban() as oban:
        slow = peers.drain(postgres_peers.PROCRASTINATE, db, 3000 // shrink, 100)
        _say("Procrastinate, 100 at once", f"{slow:,.0f}/s")
        if oban is None:
            _say("Oban is measured with", "Python 3.12")
        for slots in (100, 1000):  # side by side in time, for the machine may be busy
            count = 30_000 // shrink
            bounded = peers.drain(postgres_peers.PGQUEUER, db, count, slots // 2, slots)
            ours, _ = drain.drain(count, slots, db)
            unbounded = peers.drain(postgres_peers.PGQUEUER, db, count, slots)
            _say(f"PgQueuer, batches of {slots // 2}, {slots} at once", f"{bounded:,.0f}/s")
            _say(f"PgQueuer, batches of {slots}, any number at once", f"{unbounded:,.0f}/s")
            against = f"{ours / bounded:.2f}x and {ours / unbounded:.2f}x PgQueuer"
            if oban is not None:
                other = oban.drain(postgres_peers.OBAN, db, 10_000 // shrink, slots)
                _say(f"Oban, {slots} at once", f"{other:,.0f}/s")
                against += f", {ours / other:.1f}x Oban"
            ratio = f"{against}, {ours / slow:.1f}x Procrastinate"
            _say(f"Headway, {slots} slots", f"{ours:,.0f}/s", ratio)
        many = 150_000 // shrink  # what the first of them leave behind is in the way of the last
        bounded = peers.drain(postgres_peers.PGQUEUER, db, many, 50, 100)
        ours, _ = drain.drain(many, 100, db)
        _say(f"PgQueuer, {many:,} jobs, 100 at once", f"{bounded:,.0f}/s")
        _say(f"Headway, {many:,} jobs, 100 slots", f"{ours:,.0f}/s", f"{ours / bounded:.2f}x")


SECTIONS: dict[str, Callable[[int, str | None], None]] = {
    "floor": _floor,
    "submit": _submit,
    "drain": _drain,
    "latency": _latency,
    "backlog": _backlog,
    "dag": _dag,
    "memory": _memory,
    "recovery": _recovery,
    "remote": _remote,
    "servers": _servers,
    "dead": _dead,
    "peers": _peers,
}
ASKED_FOR = ("servers", "dead", "peers")
"""Sections that run only when they are named."""

if __name__ == "__main__":
    main()
