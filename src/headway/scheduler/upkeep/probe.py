"""Looking at what cannot notify: files, branches and plug-ins that jobs wait on."""

from headway.domain import artifacts, errors
from headway.scheduler.admit.gate_facts import HEAD
from headway.scheduler.finish import consequences
from headway.scheduler.scheduler import Scheduler
from headway.storage.admit import watches
from headway.storage.engine.transaction import Transaction

BATCH = 500


def probe(scheduler: Scheduler) -> None:
    """Look at each watched thing once, and admit the jobs that waited for what has come."""
    whats = scheduler.store.read(watches.watched)
    changed = [what for what in whats if _may_have_come(scheduler, what)]
    if changed:
        while scheduler.store.write(lambda tx: _admit(scheduler, tx, changed)):
            pass


def _may_have_come(scheduler: Scheduler, what: str) -> bool:
    if what.startswith(HEAD):
        branch, _, commit = what[len(HEAD) :].rpartition(":")
        return scheduler.workspace.head_matches(branch, commit)
    try:
        return scheduler.workspace.has(artifacts.parse(what, scheduler.kinds).probe)
    except errors.InvalidArtifact:
        return False


def _admit(scheduler: Scheduler, tx: Transaction, whats: list[str]) -> bool:
    """Let some waiting jobs try; return whether others may succeed."""
    tried = watches.watchers(tx, whats, BATCH)
    consequences.admit_or_end(scheduler, tx, tried)
    left = watches.watchers(tx, whats, BATCH)
    return bool(left) and left != tried
