"""A worker with its own code for the protocol, which knows which of its reports were accepted."""

import random
import signal
import time
from pathlib import Path
from typing import Any

from headway.prove import ledger, requests
from headway.prove.asking import NoAnswer, Servers, Stopped
from headway.prove.ledger import Ledger

MOST_JOBS = 2
WAIT_S = 0.5
PAUSE_S = 0.05
BEGINS_WITHIN_S = 1.5
"""Half a lease: a worker that was held up for longer leaves the job to its retry."""


class ProtocolWorker:
    """Takes jobs in one step or in two, executes them, and reports until it is answered."""

    def __init__(self, name: str, urls: list[str], seed: int) -> None:
        self._name = f"{name}-{time.monotonic_ns()}"
        self._chance = random.Random(seed)
        self._ledger = Ledger(Path(ledger.FOLDER), name)
        self._goes_on = True
        self._servers = Servers(urls, Path("data/admin.token"), lambda: self._goes_on)

    def stop(self, *_: Any) -> None:
        """Take nothing more."""
        self._goes_on = False

    def run(self) -> None:
        """Work until stopped."""
        while self._goes_on:
            try:
                asked_at = time.monotonic()
                for job in self._claim():
                    self._work(job, asked_at + BEGINS_WITHIN_S)
            except NoAnswer:
                self._servers.change()
                time.sleep(PAUSE_S)
            except Stopped:
                return

    def _claim(self) -> list[Any]:
        body = {
            "worker_id": self._name,
            "job_types": [requests.REMOTE],
            "max_jobs": MOST_JOBS,
            "wait_s": WAIT_S,
            "lease": self._chance.random() < 0.5,
        }
        status, claimed = self._servers.current.ask("POST", "/api/claims", body)
        if status >= 500:
            raise NoAnswer(str(claimed))
        return list(claimed["jobs"]) if status == 200 else []

    def _work(self, claimed: Any, begins_by: float) -> None:
        """Execute a job under its lease and report it."""
        job = claimed["job"]
        granted = claimed if claimed["lease"] else self._lease(job["job_id"])
        if granted is None or time.monotonic() > begins_by:
            return
        facts = {"key": job["params"]["key"], "job_id": job["job_id"], "run_id": granted["run_id"]}
        self._ledger.note(ledger.BEGIN, **facts)
        time.sleep(job["params"]["ms"] / 1000)
        self._ledger.note(ledger.END, **facts)
        report = {"worker_id": self._name, "status": "SUCCEEDED", "result": facts["key"]}
        path = f"/api/leases/{granted['lease']['lease_id']}/release"
        status, _ = self._servers.ask("POST", path, report)
        if status == 200:
            self._ledger.note(ledger.FINISHED, **facts, status="COMPLETED")

    def _lease(self, job_id: str) -> Any:
        """The second step: prepare, and ask to start."""
        who = {"worker_id": self._name}
        self._servers.current.ask("POST", f"/api/jobs/{job_id}/preparing", who)
        status, answer = self._servers.current.ask("POST", "/api/leases", {"job_id": job_id, **who})
        return answer if status in (200, 201) and answer["approved"] else None


def main(name: str, seed: str, *urls: str) -> None:
    """Be a worker until SIGTERM."""
    worker = ProtocolWorker(name, [*urls], int(seed))
    signal.signal(signal.SIGTERM, worker.stop)
    worker.run()
