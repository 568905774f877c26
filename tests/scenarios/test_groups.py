"""Groups: what becomes of the rest when a member fails."""

from typing import Any

import pytest
from tests.servers import Server, Stage, wait_for


def make(server: Server, prefix: str, **fields: Any) -> Any:
    """A group of three, the second of which fails."""
    kinds = ("note", "fail", "note")
    jobs = [
        {"job_type": kind, "params": {"name": f"{prefix} {n}"}, "retry_policy": {"max_attempts": 0}}
        for n, kind in enumerate(kinds)
    ]
    return server.post("/api/job-groups", name=prefix, jobs=jobs, **fields)


@pytest.mark.parametrize(
    ("on_failure", "last", "ran"),
    [("stop", "CANCELLED", 2), ("continue", "SUCCEEDED", 3), ("skip", "SKIPPED", 2)],
)
def test_a_member_fails_and_the_policy_decides_about_the_rest(
    shared: Stage, server: Server, on_failure: str, last: str, ran: int
) -> None:
    group = make(server, on_failure, mode="sequential", on_failure=on_failure)
    path = f"/api/job-groups/{group['group_id']}"
    ended = wait_for(lambda: _ended(server.get(path)), "the end of the group")
    assert ended["status"] == "PARTIAL"
    assert [one["status"] for one in ended["members"]] == ["SUCCEEDED", "FAILED", last]
    notes = [note for note in shared.notes() if note.startswith(f"{on_failure} ")]
    assert notes == [f"{on_failure} {n}" for n in range(ran)]
    job = server.job(ended["members"][2])
    if on_failure == "stop":
        assert job["wait_reason"] == {"kind": "group", "detail": "predecessor failed"}
    assert len(server.runs(job)) == (0 if on_failure == "stop" else 1)


def _ended(group: Any) -> Any:
    return group if group["status"] in ("COMPLETED", "PARTIAL", "CANCELLED") else None


def test_a_group_whose_retry_works_is_complete(server: Server) -> None:
    policy = {"max_attempts": 3, "base_delay_s": 0}
    jobs = [
        {"job_type": "flaky", "params": {"name": "member"}, "retry_policy": policy},
        {"job_type": "note", "params": {"name": "after the flaky one"}},
    ]
    group = server.post("/api/job-groups", name="retry", mode="sequential", jobs=jobs)
    path = f"/api/job-groups/{group['group_id']}"
    ended = wait_for(lambda: _ended(server.get(path)), "the end of the group")
    assert ended["status"] == "COMPLETED"
    assert [one["status"] for one in ended["members"]] == ["SUCCEEDED", "SUCCEEDED"]
