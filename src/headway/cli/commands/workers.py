"""`headway workers …`."""

from typing import TYPE_CHECKING

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.screen import Cell
    from headway.cli.session import Session
    from headway.domain.workers import Worker

app = commands()


@command(app, "list", "headway workers list")
def list_workers(session: "Session") -> None:
    """List known workers and the jobs that they hold."""
    from headway.cli import lost
    from headway.cli.screen import Column
    from headway.client import calls

    page = session.send(calls.list_workers())

    def render() -> None:
        if not page.items:
            session.screen.line("No workers; start one: headway serve")
            return
        columns = [Column("WORKER", elastic=True), Column("STATE"), Column("SEEN"), Column("SLOTS")]
        columns += [Column(title, elastic=True) for title in ("QUEUES", "TYPES", "HOLDS")]
        session.screen.table(columns, [_row(session, worker) for worker in page.items])
        gone = lost.sentences(page.items)
        for one in page.items:
            if one.worker_id in gone and one.holds:
                held = ", ".join(session.number(job) for job in one.holds)
                session.screen.line(f"Job {held}: {gone[one.worker_id]}")

    session.show(page, render)


def _row(session: "Session", worker: "Worker") -> "list[Cell]":
    from headway.cli import words
    from headway.cli.screen import Styled

    able = f" ({', '.join(worker.capabilities)})" if worker.capabilities else ""
    return [
        worker.worker_id,
        Styled("alive", "green") if worker.alive else Styled("gone", "red"),
        f"{words.age(worker.last_seen)} ago",
        str(worker.slots),
        ", ".join(worker.queues) if worker.queues is not None else "all",
        (", ".join(worker.job_types) if worker.job_types is not None else "all") + able,
        ", ".join(session.number(one) for one in worker.holds),
    ]
