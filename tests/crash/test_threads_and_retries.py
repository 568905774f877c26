"""A handler in a thread never runs beside its own retry in the same process."""

from typing import Any

from tests.servers import Server, Stage

AT_ONCE = {"max_attempts": 1, "base_delay_s": 0}


def the_retry_waits(stage: Stage, server: Server, job: Any) -> None:
    """The first attempt is over for the scheduler, and its thread goes on: nothing starts."""
    retry = server.retry_of(job)
    server.wait(server.submit("note", "other"), "SUCCEEDED")
    assert stage.notes() == ["a", "other"]
    worker = next(
        row
        for row in server.get(f"/api/jobs/{retry['number']}/why")["gates"]
        if row["gate"] == "worker"
    )
    assert worker["state"] == "closed"
    assert "still runs in a thread" in worker["detail"]
    assert [one["id"] for one in worker["blockers"]] == [job["job_id"]]
    stage.let_go("a")
    server.wait(retry, "SUCCEEDED")
    assert stage.notes() == ["a", "other", "a"]


def test_after_a_time_out_the_retry_waits_for_the_thread(stage: Stage) -> None:
    server = stage.serve(slots=3)
    job = server.submit("hold", "a", timeout_s=0.5, retry_policy=AT_ONCE)
    stage.wait_for_note("a")
    server.wait(job, "TIMEOUT")
    the_retry_waits(stage, server, job)
