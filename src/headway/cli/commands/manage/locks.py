"""`headway locks`."""

from typing import TYPE_CHECKING

from headway import protocol
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.cli.text.screen import Cell
    from headway.domain.answers import LockView

app = commands()


@command(app, "locks", "headway locks", "headway locks --json")
def locks(session: "Session") -> None:
    """List locks that are held or waited for."""
    from headway.cli.text.screen import Column

    page = session.send(protocol.limits.list_locks)
    columns = [Column("LOCK", elastic=True), Column("HELD BY", elastic=True)]
    columns += [Column("MODE"), Column("FOR"), Column("WAITING")]

    def render() -> None:
        if page.items:
            session.screen.table(columns, [_row(lock) for lock in page.items])
        else:
            session.screen.line("No lock is held or waited for")

    session.show(page, render)


def _row(lock: "LockView") -> "list[Cell]":
    from headway.cli.text import words

    first = min((one.since for one in lock.holders), default=None)
    return [
        lock.key,
        ", ".join(f"job {one.number}" for one in lock.holders),
        lock.holders[0].mode.value if lock.holders else "",
        words.age(first),
        str(lock.waiting),
    ]
