"""Looking at what cannot notify: files, branches and plug-ins that jobs wait on."""

from headway.domain import artifacts, errors
from headway.scheduler import settle
from headway.scheduler.facts import HEAD
from headway.scheduler.scheduler import Scheduler
from headway.storage import records
from headway.storage.events import Chronicle
from headway.storage.transaction import Transaction

BATCH = 500


def probe(scheduler: Scheduler) -> None:
    """Look at each watched thing once, and admit the jobs that waited for what has come."""
    whats = scheduler.store.read(lambda tx: [row["what"] for row in tx.rows("watched")])
    changed = [what for what in whats if _may_have_come(scheduler, what)]
    if changed:
        while scheduler.store.write(lambda tx: _admit(scheduler, tx, changed)) >= BATCH:
            pass


def _may_have_come(scheduler: Scheduler, what: str) -> bool:
    if what.startswith(HEAD):
        branch, _, commit = what[len(HEAD) :].rpartition(":")
        return scheduler.workspace.head_matches(branch, commit)
    try:
        return scheduler.workspace.has(artifacts.parse(what, scheduler.kinds).probe)
    except errors.InvalidArtifact:
        return False


def _admit(scheduler: Scheduler, tx: Transaction, whats: list[str]) -> int:
    rows = tx.rows("watchers", whats=records.listed(whats), count=BATCH)
    chronicle = Chronicle(tx)
    settle.settle(scheduler, tx, chronicle, admit=[row["job_number"] for row in rows])
    chronicle.write()
    left = tx.rows("watchers", whats=records.listed(whats), count=BATCH)
    return BATCH if rows and len(left) < len(rows) and left else 0
