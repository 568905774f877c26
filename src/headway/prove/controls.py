"""Negative controls: faults that are planted in the running store and must be noticed."""

import time
from collections.abc import Callable

from headway.domain import errors
from headway.prove import requests
from headway.prove.asking import Servers
from headway.prove.fleet import Fleet, wait_until
from headway.prove.ledger import FOLDER, Ledgers
from headway.prove.oracle import history
from headway.prove.oracle.history import History

PLANTED_WITHIN_S = 20.0
LEAST_IN_LINE = 3


class Gardener:
    """Plants one fault in the store of a running fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._ledgers = Ledgers(fleet.place.folder / FOLDER)
        until = time.monotonic() + PLANTED_WITHIN_S
        self._servers = Servers(fleet.urls, fleet.token, lambda: time.monotonic() < until)

    def lost_submit(self) -> None:
        """The store forgets a job whose submit was acknowledged.

        It has ended by then: a lease without its job would keep all leases from expiring.
        """
        job_id = self._find(_succeeded)
        self._execute(
            "DELETE FROM runs WHERE job_number = (SELECT number FROM jobs WHERE job_id = '{}')",
            job_id,
        )
        self._execute("DELETE FROM jobs WHERE job_id = '{}'", job_id)

    def lost_finish(self) -> None:
        """The store forgets that a job had succeeded."""
        job_id = self._find(_succeeded)
        self._execute("UPDATE jobs SET status = 'CANCELLED' WHERE job_id = '{}'", job_id)

    def doubled_run(self) -> None:
        """A job that had succeeded is executed again."""
        job_id = self._find(_succeeded)
        self._servers.ask("POST", f"/api/jobs/{job_id}/retry", {"force": True})

    def broken_order(self) -> None:
        """The last in the line is moved to its front."""
        queue = {"queue": "line"}
        self._servers.ask("POST", "/api/queue/pause", queue)
        waiting = "/api/jobs?queue=line&status=QUEUED&limit=200"

        def is_line_long() -> bool:
            return len(self._servers.get(waiting)["items"]) >= LEAST_IN_LINE

        if not wait_until(is_line_long, PLANTED_WITHIN_S):
            raise errors.Unavailable(
                "the fault could not be planted: no job is waiting in the line"
            )
        jobs = sorted(self._servers.get(waiting)["items"], key=lambda job: int(job["number"]))
        path = f"/api/jobs/{jobs[-1]['job_id']}/move"
        self._servers.ask("POST", path, {"before": jobs[0]["job_id"]})
        self._servers.ask("POST", "/api/queue/resume", queue)

    def _find(self, look: Callable[[History], list[str]]) -> str:
        """The newest job of which the ledgers say this."""
        found: list[str] = []

        def is_there() -> bool:
            found.extend(look(history.read(self._ledgers.look())))
            return bool(found)

        if not wait_until(is_there, PLANTED_WITHIN_S):
            raise errors.Unavailable("the fault could not be planted: no such job has ended yet")
        return found[-1]

    def _execute(self, statement: str, job_id: str) -> None:
        """Change the store itself, as nothing but a fault would."""
        self._fleet.place.execute(statement.format(job_id))


def _succeeded(told: History) -> list[str]:
    """Jobs that a client saw succeed."""
    keys = [key for key in told.jobs if requests.kind_of(key) == requests.PLAIN]
    plain = {one for key in keys for one in told.jobs[key]}
    return [one for one, end in told.seen.items() if end == "SUCCEEDED" and one in plain]


CONTROLS: dict[str, Callable[[Gardener], None]] = {
    "lost-submit": Gardener.lost_submit,
    "lost-finish": Gardener.lost_finish,
    "doubled-run": Gardener.doubled_run,
    "broken-order": Gardener.broken_order,
}
