"""What may follow in a step: the end of a lease, a retry, the next member of a group, a wait."""

import json
from collections.abc import Iterator

from tests.simulation.facts import Facts, JobFacts
from tests.simulation.ledger import Ledger

from headway.domain import states


def leases_last(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """No lease expires before its time; a clock that was set changes all times."""
    for number, old in before.jobs.items() if before.timely else ():
        if old.row["status"] == states.RUNNING and after.jobs[number].status is states.TIMEOUT:
            until = before.leases[old.run_id]
            if until > after.now_ms:
                yield f"job {number} timed out {until - after.now_ms} ms before its lease was over"


def retries_follow_their_policy(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """A failure is tried again as often as was asked for, and not where that is no use."""
    for number in after.jobs.keys() - before.jobs.keys():
        job = after.jobs[number]
        of = after.jobs.get(job.retry_of)
        if of is None or of.number in ledger.retried_by_hand:
            continue
        if job.attempt != of.attempt + 1:
            yield f"job {number} is attempt {job.attempt} after attempt {of.attempt}"
        if job.attempt > job.terms.retry_policy.max_attempts:
            yield f"job {number} is one attempt too many"
        if (of.number, of.generation) in ledger.hopeless:
            yield f"job {of.number} is tried again although that is no use"


def members_wait_their_turn(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """In a sequential group a member starts when the chains before it have ended."""
    for run_id, job in after.running.items():
        if run_id not in before.runs and job.group_id in after.sequences:
            for other in after.jobs.values():
                if _goes_first(after, other, job) and not _by_hand(after, other, ledger):
                    yield f"member {job.number} of a group started before member {other.number}"


def _goes_first(after: Facts, other: JobFacts, job: JobFacts) -> bool:
    together = other.group_id == job.group_id and other.chain != job.chain
    return together and other.is_active and other.group_place < job.group_place


def _by_hand(after: Facts, job: JobFacts, ledger: Ledger) -> bool:
    """Somebody tries the member again, though the group has gone on."""
    return any(link.number in ledger.retried_by_hand for link in after.chains[job.chain])


def waits_are_kept(before: Facts, after: Facts, ledger: Ledger) -> Iterator[str]:
    """What a job has waited on is kept, each kind once."""
    for number, old in before.jobs.items():
        new = after.jobs[number]
        if old.row["waited_on"] == new.row["waited_on"] or old.generation != new.generation:
            continue
        kinds = json.loads(new.waited_on)
        if len(set(kinds)) < len(kinds):
            yield f"job {number} waited on {kinds}"
        if not set(json.loads(old.waited_on)) <= set(kinds):
            yield f"job {number} waited on {old.waited_on}, of which {kinds} is left"


RULES = (leases_last, retries_follow_their_policy, members_wait_their_turn, waits_are_kept)
