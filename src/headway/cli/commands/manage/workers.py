"""`headway workers …`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.workers import Worker

app = commands()


@command(app, "list", "headway workers list")
def list_workers(session: "Session") -> None:
    """List known workers and the jobs that they hold."""
    from headway.cli import lost
    from headway.cli.text.screen import Column

    page = session.send(protocol.work.list_workers)

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


@command(app, "drain", "headway workers drain worker-gpu1-4711-0f3a9c")
def drain(
    session: "Session",
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The worker, as `list` shows it.",
            show_default=False,
            autocompletion=completion.workers,
        ),
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Let it take jobs again.")] = False,
) -> None:
    """Let a worker finish the jobs it holds and take no more; `headway worker` then exits."""
    from headway.protocol.work_shapes import DrainBody

    worker = session.send(protocol.work.drain_worker, id=name, body=DrainBody(drained=not undo))

    def render() -> None:
        held = ", ".join(session.number(one) for one in worker.holds)
        if undo:
            session.screen.line(f"{name} takes jobs again.")
        elif held:
            session.screen.line(f"{name} takes no more jobs and finishes those it holds: {held}")
        else:
            session.screen.line(f"{name} takes no more jobs. It holds none.")

    session.show(worker, render)


def _row(session: "Session", worker: "Worker") -> "list[Cell]":
    from headway.cli.text import words

    able = f" ({', '.join(worker.capabilities)})" if worker.capabilities else ""
    return [
        worker.worker_id,
        _state(worker),
        f"{words.age(worker.last_seen)} ago",
        str(worker.slots),
        ", ".join(worker.queues) if worker.queues is not None else "all",
        (", ".join(worker.job_types) if worker.job_types is not None else "all") + able,
        ", ".join(session.number(one) for one in worker.holds),
    ]


def _state(worker: "Worker") -> "Cell":
    from headway.cli.text.screen import Styled

    if not worker.alive:
        return Styled("gone", "red")
    return Styled("alive", "green") if worker.draining_since is None else "draining"
