"""What must be true of the store, a query and a sentence each."""

import msgspec

from headway.storage.engine.transaction import Transaction

MOST_SHOWN = 20
"""How many cases of the same problem are named."""

PROBLEMS = {
    "verify_job_without_lane": "job {} refers to a missing lane: its queue and its type are lost",
    "verify_job_without_params": "job {} refers to missing params",
    "verify_job_without_group": "job {} refers to a missing group",
    "verify_run_without_params": "run {} refers to missing params",
    "verify_lane_wait_without_lane": "a wait of lane {} refers to a missing lane",
    "verify_schedule_without_template": "schedule {} refers to a missing template",
    "verify_numbers": "the counter of {} numbers is behind the last one that is in use",
    "verify_running_without_lease": "job {} is RUNNING without a lease",
    "verify_running_without_open_run": "job {} is RUNNING without an open run",
    "verify_lease_without_running_job": "lease {} does not belong to a running job",
    "verify_open_run_without_running_job": "run {} is open, but its job is not running",
    "verify_open_dependencies": "job {} counts its open dependencies wrongly",
    "verify_lock_without_running_job": "lock {} is held by a job that is not running",
    "verify_conflicting_locks": "lock {} is held exclusively and by another job",
    "verify_claim_without_worker": "job {} is claimed without a worker or a time",
    "verify_two_active_links": "the chain of job {} has more than one active link",
    "verify_line_without_waiting": "job {} stands wrongly in the line for a lock",
    "verify_waiting_without_line": "job {} waits for locks but stands in no line",
    "verify_ended_without_run": "job {} ended, but its run is missing",
    "verify_suspended_without_wait": "job {} is SUSPENDED and does not wait for one thing",
    "verify_wait_without_suspended": "job {} waits for something and is not SUSPENDED",
    "verify_unread_journal": "job {} has a journal that its next run would not get",
    "verify_ends": "job {} ended otherwise than its run",
}


class Finding(msgspec.Struct, frozen=True):
    """A rule that is broken, and by what."""

    rule: str
    subject: int | str

    @property
    def sentence(self) -> str:
        """What a person reads."""
        return PROBLEMS[self.rule].format(self.subject)


def find(tx: Transaction, rule: str, count: int = MOST_SHOWN) -> list[Finding]:
    """What breaks one of our own rules."""
    return [Finding(rule, row["subject"]) for row in tx.rows(rule, count=count)]


def find_all(tx: Transaction, count: int = MOST_SHOWN) -> list[Finding]:
    """What breaks any of them; a subject that breaks one twice is named once."""
    return [*dict.fromkeys(one for rule in PROBLEMS for one in find(tx, rule, count))]


def broken(tx: Transaction) -> list[str]:
    """Which of our own rules are broken, a line each."""
    return [one.sentence for one in find_all(tx)]
