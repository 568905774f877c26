"""Peers on the same machine in the same run, taking turns with Headway."""

from bench import drain, huey_peer, postgres_peers, submit
from bench.table import against, say, say_cost


def on_sqlite(shrink: int) -> None:
    """Huey, with as many threads as Headway has slots."""
    with huey_peer.installed() as huey:
        for workers in (1, 4):
            count = 8000 // shrink
            kept = huey.drain(count, workers, results=True)
            ours = drain.drain(count, workers)
            dropped = huey.drain(count, workers, results=False)
            say_cost(f"Huey, results kept, {workers} at once", kept)
            say_cost(f"Huey, no results, {workers} at once", dropped)
            say_cost(f"Headway, {workers} at once", ours, against(ours, kept, "Huey with results"))
            say("", "", against(ours, dropped, "Huey without"))
        count = 4000 // shrink
        theirs, ours = huey.submit(count), submit.alone(count)
        say_cost("Huey, submit, one caller", theirs)
        say_cost("Headway, submit, one caller", ours, against(ours, theirs, "Huey"))


def on_postgres(shrink: int, db: str) -> None:
    """Procrastinate, PgQueuer and Oban, with as many jobs at work as Headway has slots."""
    with postgres_peers.installed() as peers, postgres_peers.oban() as oban:
        slow = peers.drain(postgres_peers.PROCRASTINATE, db, 3000 // shrink, 100)
        say("Procrastinate, 100 at once", f"{slow:,.0f}/s")
        if oban is None:
            say("Oban is measured with", "Python 3.12")
        for slots in (100, 1000):  # side by side in time, for the machine may be busy
            count = 30_000 // shrink
            bounded = peers.drain(postgres_peers.PGQUEUER, db, count, slots // 2, slots)
            ours = drain.drain(count, slots, db)
            unbounded = peers.drain(postgres_peers.PGQUEUER, db, count, slots)
            say(f"PgQueuer, batches of {slots // 2}, {slots} at once", f"{bounded:,.0f}/s")
            say(f"PgQueuer, batches of {slots}, any number at once", f"{unbounded:,.0f}/s")
            ratio = f"{ours.rate / bounded:.2f}x and {ours.rate / unbounded:.2f}x PgQueuer"
            if oban is not None:
                other = oban.drain(postgres_peers.OBAN, db, 10_000 // shrink, slots)
                say(f"Oban, {slots} at once", f"{other:,.0f}/s")
                ratio += f", {ours.rate / other:.1f}x Oban"
            ratio += f", {ours.rate / slow:.1f}x Procrastinate"
            say_cost(f"Headway, {slots} slots", ours, ratio)
        many = 150_000 // shrink  # what the first of them leave behind is in the way of the last
        bounded = peers.drain(postgres_peers.PGQUEUER, db, many, 50, 100)
        ours = drain.drain(many, 100, db)
        say(f"PgQueuer, {many:,} jobs, 100 at once", f"{bounded:,.0f}/s")
        say_cost(f"Headway, {many:,} jobs, 100 slots", ours, f"{ours.rate / bounded:.2f}x PgQueuer")
