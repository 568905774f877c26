"""Processes that submit jobs and look at what became of them."""

import random
import signal
import time
from pathlib import Path
from typing import Any

from headway.prove import ledger, requests
from headway.prove.asking import NoAnswer, Servers, Stopped
from headway.prove.ledger import Ledger

MOST_OPEN = 60
LOOKED_AT = 5
PAUSE_S = 0.01
SHARES = {
    requests.PLAIN: 8,
    requests.FLAKY: 3,
    requests.HOPELESS: 1,
    requests.APART: 1,
    requests.REMOTE: 6,
    requests.GRAPH: 1,
    requests.GROUP: 1,
    requests.LOCKED: 2,
    requests.LIMITED: 2,
    requests.APPROVED: 1,
    requests.ARTIFACT: 1,
}
ENDED = ("SUCCEEDED", "FAILED", "SKIPPED", "TIMEOUT", "CANCELLED")


class Client:
    """Submits, sometimes without hearing the answer, and then once more."""

    def __init__(self, name: str, urls: list[str], seed: int) -> None:
        self._name = name
        self._chance = random.Random(seed)
        self._ledger = Ledger(Path(ledger.FOLDER), name)
        self._goes_on = True
        self._servers = Servers(urls, Path("data/admin.token"), lambda: self._goes_on)
        self._submitted = 0
        self._open: list[str] = []

    def stop(self, *_: Any) -> None:
        """Submit nothing more."""
        self._goes_on = False

    def run(self, kinds: dict[str, int]) -> None:
        """Submit jobs of these kinds until stopped; few are open at a time."""
        while self._goes_on:
            try:
                if len(self._open) < MOST_OPEN:
                    (kind,) = self._chance.choices([*kinds], [*kinds.values()])
                    self._submit(kind)
                self._look()
            except Stopped:
                return
            time.sleep(PAUSE_S)

    def _submit(self, kind: str) -> None:
        self._submitted += 1
        key = f"{kind}/{self._name}/{self._submitted}"
        if kind == requests.GRAPH:
            self._submit_all(requests.diamond(key, self._chance))
        elif kind == requests.ARTIFACT:
            self._submit_all(requests.handed_on(key, self._chance))
        elif kind == requests.GROUP:
            self._submit_group(key)
        else:
            job_id = self._submit_one(key, requests.single(kind, key, self._chance))
            if kind == requests.APPROVED:
                self._approve(key, job_id)

    def _submit_one(self, key: str, body: dict[str, Any]) -> str:
        """Submit a job; one in eight is submitted twice."""
        self._ledger.note(ledger.ASKED, key=key)
        if self._chance.random() < 1 / 8:
            self._lose_an_answer(body)
        job_id = str(self._ask("/api/jobs", body)["job_id"])
        self._acknowledged(key, job_id)
        return job_id

    def _approve(self, key: str, job_id: str) -> None:
        """Approve a job; if the answer is lost, it is approved already the next time."""
        self._ledger.note(ledger.APPROVES, key=key)
        self._servers.ask("POST", f"/api/jobs/{job_id}/approve", {})

    def _lose_an_answer(self, body: dict[str, Any]) -> None:
        try:
            self._servers.current.ask_and_leave("POST", "/api/jobs", body)
        except NoAnswer:
            self._servers.change()

    def _submit_all(self, jobs: list[dict[str, Any]]) -> None:
        for one in jobs:
            self._ledger.note(ledger.ASKED, key=one["idempotency_key"])
        answered = self._ask("/api/jobs/batch", {"jobs": jobs})["jobs"]
        for one, job in zip(jobs, answered, strict=True):
            self._acknowledged(one["idempotency_key"], job["job_id"])

    def _submit_group(self, key: str) -> None:
        """A group has no key of its own: if its answer is lost, it is not repeated."""
        body = requests.sequence(key, self._chance)
        for one in body["jobs"]:
            self._ledger.note(ledger.ASKED, key=one["idempotency_key"])
        try:
            status, group = self._servers.current.ask("POST", "/api/job-groups", body)
        except NoAnswer:
            self._servers.change()
            return
        if status == 201:
            self._ledger.note(ledger.ACKNOWLEDGED, key=key, group_id=group["group_id"])
            self._open += [one["job_id"] for one in group["members"]]

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        status, content = self._servers.ask("POST", path, body)
        if status not in (200, 201):
            raise RuntimeError(f"POST {path}: {status} {content}")
        return content

    def _acknowledged(self, key: str, job_id: str) -> None:
        self._ledger.note(ledger.ACKNOWLEDGED, key=key, job_id=job_id)
        self._open.append(job_id)

    def _look(self) -> None:
        """Look at some of the open jobs; an end that is seen was acknowledged."""
        for job_id in self._chance.sample(self._open, min(LOOKED_AT, len(self._open))):
            status, job = self._servers.ask("GET", f"/api/jobs/{job_id}")
            if status == 200 and job["status"] not in ENDED:
                continue
            self._open.remove(job_id)
            if status == 200:
                self._ledger.note(ledger.SEEN, job_id=job_id, status=job["status"])
                if job["retried_by"]:
                    self._open.append(job["retried_by"])


def main(name: str, kinds: str, seed: str, *urls: str) -> None:
    """Be a client until SIGTERM."""
    client = Client(name, [*urls], int(seed))
    signal.signal(signal.SIGTERM, client.stop)
    client.run({requests.LINE: 1} if kinds == requests.LINE else SHARES)
