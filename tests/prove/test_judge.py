"""The oracle of `headway prove`: each kind of fault is noticed, and what is sound is not."""

from typing import Any

import msgspec
import pytest

from headway.prove import ledger
from headway.prove.ledger import Fact
from headway.prove.oracle import findings, history, judge
from headway.prove.oracle.outcome import Job, Outcome, Run

DONE = "COMPLETED"


class Story:
    """Facts and a store, told line by line: time goes on by one with each fact."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.jobs: dict[str, Job] = {}
        self.runs: dict[str, Run] = {}
        self.groups: dict[str, str] = {}
        self.messages: dict[str, str] = {}

    def tell(self, what: str, pid: int = 1, **facts: Any) -> None:
        """A process notes something."""
        self.facts.append(Fact(at=len(self.facts) + 1, what=what, pid=pid, **facts))

    def submit(self, key: str, status: str = "SUCCEEDED", **more: Any) -> str:
        """A job is asked for, acknowledged, and there in the end."""
        job_id = key if "retry_of" not in more else f"{key}#{more['attempt']}"
        self.tell(ledger.ASKED, key=key)
        self.tell(ledger.ACKNOWLEDGED, key=key, job_id=job_id)
        facts = {
            "number": len(self.jobs) + 1,
            "chain_id": key,
            "attempt": 0,
            "idempotency_key": key,
            "retry_of": None,
            "retried_by": None,
            "permanently_failed": False,
            "schedule_id": None,
            "fire_time": None,
            "generation": 1,
            "params": {"key": key},
        }
        self.jobs[job_id] = Job(job_id=job_id, status=status, **{**facts, **more})
        return job_id

    def execute(self, key: str, run_id: str | None = None, status: str | None = DONE) -> None:
        """A run from its begin to its end."""
        self.begin(key, run_id, status)
        self.end(key, run_id)

    def begin(self, key: str, run_id: str | None = None, status: str | None = DONE) -> None:
        """A run begins, and in the end its webhook was sent."""
        run_id = run_id or f"run of {key}"
        self.messages[run_id] = "DELIVERED"
        self.tell(ledger.BEGIN, key=key, job_id=key, run_id=run_id)
        self.tell(ledger.TOLD, run_id=run_id)
        self.runs[run_id] = Run(run_id=run_id, job_id=key, status=status)

    def end(self, key: str, run_id: str | None = None) -> None:
        """A run ends."""
        self.tell(ledger.END, key=key, job_id=key, run_id=run_id or f"run of {key}")

    def change(self, job_id: str, **facts: Any) -> None:
        """The store says otherwise."""
        self.jobs[job_id] = msgspec.structs.replace(self.jobs[job_id], **facts)

    def verdict(self, *, all_ended: bool = True) -> list[str]:
        """The kinds of what is found wrong."""
        outcome = Outcome(
            jobs=[*self.jobs.values()],
            runs=[*self.runs.values()],
            groups=self.groups,
            messages=self.messages,
            every_s=1.0,
        )
        found = judge.judge(history.read(self.facts), outcome, all_ended=all_ended)
        return [one.kind for one in found]


@pytest.fixture
def story() -> Story:
    """One plain job that was submitted, executed, reported and seen to succeed."""
    told = Story()
    told.submit("plain/a/1")
    told.execute("plain/a/1")
    told.tell(ledger.FINISHED, key="plain/a/1", run_id="run of plain/a/1", status=DONE)
    told.tell(ledger.SEEN, job_id="plain/a/1", status="SUCCEEDED")
    return told


def test_what_is_sound_is_not_complained_of(story: Story) -> None:
    assert story.verdict() == []


def test_a_job_that_is_gone_is_lost(story: Story) -> None:
    del story.jobs["plain/a/1"]
    assert findings.LOST in story.verdict()


def test_an_end_that_was_seen_and_is_no_longer_there_is_lost(story: Story) -> None:
    story.change("plain/a/1", status="CANCELLED")
    assert set(story.verdict()) == {findings.LOST}


def test_a_report_that_was_accepted_and_is_not_recorded_is_lost(story: Story) -> None:
    story.runs["run of plain/a/1"] = Run(run_id="run of plain/a/1", job_id="x", status="FAILED")
    assert findings.LOST in story.verdict()


def test_a_success_without_an_execution_is_lost_work(story: Story) -> None:
    story.submit("plain/a/2")
    story.begin("plain/a/2")
    assert story.verdict() == [findings.LOST]


def test_a_message_that_was_never_made_or_never_came_is_lost(story: Story) -> None:
    (run_id,) = story.messages
    del story.messages[run_id]
    assert story.verdict() == [findings.LOST]
    story.messages[run_id] = "DELIVERED"
    story.facts = [one for one in story.facts if one.what != ledger.TOLD]
    assert story.verdict() == [findings.LOST]
    story.messages[run_id] = "PENDING"
    assert story.verdict() == []


def test_a_run_that_is_executed_twice_is_doubled(story: Story) -> None:
    story.execute("plain/a/1")
    assert set(story.verdict()) == {findings.DOUBLED}


def test_two_runs_of_a_job_at_once_are_doubled(story: Story) -> None:
    story.submit("plain/a/2")
    story.begin("plain/a/2", "first", "FAILED")
    story.begin("plain/a/2", "second")
    story.end("plain/a/2", "first")
    story.end("plain/a/2", "second")
    assert story.verdict() == [findings.DOUBLED]


def test_a_run_after_the_kill_of_the_one_before_is_a_retry(story: Story) -> None:
    story.submit("plain/a/2")
    story.begin("plain/a/2", "first", "FAILED")
    story.tell(ledger.KILLED, key="worker-1", job_id="1")
    story.execute("plain/a/2", "second")
    assert story.verdict() == []


def test_an_execution_after_a_success_is_doubled(story: Story) -> None:
    story.execute("plain/a/1", "again")
    assert story.verdict() == [findings.DOUBLED]


def test_one_key_with_two_jobs_is_doubled(story: Story) -> None:
    story.tell(ledger.ACKNOWLEDGED, key="plain/a/1", job_id="other")
    story.jobs["other"] = msgspec.structs.replace(story.jobs["plain/a/1"], job_id="other", number=9)
    story.execute("other")
    assert findings.DOUBLED in story.verdict()


def test_a_job_that_never_ends_is_stuck_unless_it_was_interrupted(story: Story) -> None:
    story.submit("plain/a/2", status="QUEUED")
    assert story.verdict() == [findings.STUCK]
    assert story.verdict(all_ended=False) == []


def test_a_later_job_of_the_line_that_goes_first_is_out_of_order(story: Story) -> None:
    story.submit("line/a/1")
    story.submit("line/a/2")
    story.execute("line/a/2")
    story.execute("line/a/1")
    assert story.verdict() == [findings.ORDER]


def test_a_job_that_begins_before_what_it_comes_after_is_a_wrong_graph(story: Story) -> None:
    for place in ("made", "used"):
        story.submit(f"artifact/a/1/{place}")
    story.execute("artifact/a/1/used")
    story.execute("artifact/a/1/made")
    assert story.verdict() == [findings.GRAPHS]


@pytest.mark.parametrize(("kind", "most"), [("locked", 1), ("limited", 2)])
def test_more_at_once_than_is_allowed_pass_a_gate(story: Story, kind: str, most: int) -> None:
    keys = [f"{kind}/a/{number}" for number in range(most + 1)]
    for key in keys:
        story.submit(key)
    for key in keys[:most]:
        story.begin(key)
    story.end(keys[0])
    story.begin(keys[most])
    for key in keys[1:]:
        story.end(key)
    assert story.verdict() == []
    story.submit(f"{kind}/b/1")
    story.submit(f"{kind}/b/2")
    for key in (f"{kind}/b/1", f"{kind}/b/2"):
        story.begin(key)
    if most == 2:
        story.submit(f"{kind}/b/3")
        story.execute(f"{kind}/b/3")
    for key in (f"{kind}/b/1", f"{kind}/b/2"):
        story.end(key)
    assert story.verdict() == [findings.GATES]


def test_a_job_that_begins_before_it_is_approved_passes_a_gate(story: Story) -> None:
    story.submit("approved/a/1")
    story.tell(ledger.APPROVES, key="approved/a/1")
    story.execute("approved/a/1")
    assert story.verdict() == []
    story.submit("approved/a/2")
    story.execute("approved/a/2")
    story.tell(ledger.APPROVES, key="approved/a/2")
    assert story.verdict() == [findings.GATES]


def test_a_missing_and_a_second_fire_are_noticed(story: Story) -> None:
    for number, second in enumerate((1, 2, 2, 4)):
        story.submit(
            f"fire/{number}", schedule_id="s", fire_time=f"2026-03-02T12:00:0{second}+00:00"
        )
        story.execute(f"fire/{number}")
    assert story.verdict() == [findings.FIRES, findings.FIRES]


def test_a_group_that_is_not_complete_is_wrong(story: Story) -> None:
    story.tell(ledger.ACKNOWLEDGED, key="group/a/1", group_id="g")
    assert story.verdict() == [findings.GROUPS]
    story.groups["g"] = "COMPLETED"
    assert story.verdict() == []


def test_a_chain_with_a_missing_attempt_is_a_wrong_retry(story: Story) -> None:
    story.submit("flaky/a/1", status="FAILED")
    story.submit("flaky/a/1", retry_of="flaky/a/1", attempt=2)
    story.execute("flaky/a/1", "first", "FAILED")
    story.execute("flaky/a/1", "third")
    assert findings.RETRIES in story.verdict()
