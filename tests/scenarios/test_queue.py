"""Jobs go through the queue: in order, again after a failure, after each other."""

from typing import Any

from tests.servers import Server, Stage


def test_jobs_run_one_after_the_other_in_the_order_of_the_queue(
    shared: Stage, server: Server
) -> None:
    server.post("/api/queue/pause")
    jobs = [server.submit("note", f"order {number}") for number in range(3)]
    urgent = server.submit("note", "order urgent", priority="URGENT")
    server.post("/api/queue/resume")
    for job in jobs:
        server.wait(job, "SUCCEEDED")
    ran = [note for note in shared.notes() if note.startswith("order")]
    assert ran == ["order urgent", "order 0", "order 1", "order 2"]
    (run,) = server.runs(urgent)
    assert (run["status"], run["result"]) == ("COMPLETED", "order urgent")
    result = server.get(f"/api/jobs/{urgent['number']}/result")
    assert (result["status"], result["result_data"]) == ("SUCCEEDED", "order urgent")


def test_a_job_leaves_a_timeline_behind(server: Server) -> None:
    job = server.submit("note", "timeline")
    server.wait(job, "SUCCEEDED")
    events = server.get(f"/api/jobs/{job['job_id']}/events")["items"]
    seqs = [event["seq"] for event in events]
    assert seqs == sorted(set(seqs))
    assert len(events) >= 3


def test_a_failing_job_is_tried_again_until_it_works(shared: Stage, server: Server) -> None:
    first = server.submit("flaky", "f", retry_policy={"max_attempts": 3, "base_delay_s": 0})
    second = server.retry_of(first)
    third = server.retry_of(second)
    assert server.wait(third, "SUCCEEDED")["chain_id"] == first["job_id"]
    assert [server.job(job)["attempt"] for job in (first, second, third)] == [0, 1, 2]
    assert [note for note in shared.notes() if note.startswith("f ")] == ["f 0", "f 1", "f 2"]


def test_a_job_that_never_works_gives_up_and_can_be_tried_by_hand(server: Server) -> None:
    first = server.submit("fail", "g", retry_policy={"max_attempts": 1, "base_delay_s": 0})
    last = server.retry_of(first)
    assert server.wait(last, "FAILED")["permanently_failed"]
    (run,) = server.runs(last)
    assert "RuntimeError" in run["error"]
    by_hand = server.post(f"/api/job-runs/{run['run_id']}/retry")
    assert by_hand["retry_of"] == last["job_id"]
    server.wait(by_hand, "FAILED")


def test_a_graph_of_jobs_drains_in_the_order_of_its_edges(shared: Stage, server: Server) -> None:
    def step(ref: str, *after: str) -> dict[str, Any]:
        params = {"name": f"dag {ref}"}
        return {"ref": ref, "job_type": "note", "params": params, "after": list(after)}

    #  a -> b -> d
    #    -> c ->
    made = server.post(
        "/api/jobs/batch",
        jobs=[step("d", "ref:b", "ref:c"), step("c", "ref:a"), step("b", "ref:a"), step("a")],
    )["jobs"]
    for job in made:
        server.wait(job, "SUCCEEDED")
    ran = [note[-1] for note in shared.notes() if note.startswith("dag")]
    assert ran[0] == "a"
    assert ran[-1] == "d"
    assert sorted(ran) == ["a", "b", "c", "d"]


def test_a_failure_blocks_everything_behind_it(shared: Stage, server: Server) -> None:
    broken = server.submit("fail", "broken")
    behind = server.submit("note", "never", after=[broken["job_id"]])
    further = server.submit("note", "never", after=[behind["number"]])
    blocked = server.wait(further, "BLOCKED_BY_DEPENDENCY")
    assert f"dependency failed for job {behind['job_id']}" in blocked["wait_reason"]["detail"]
    assert "never" not in shared.notes()


def test_a_command_exits_with_its_own_code_and_keeps_its_output(server: Server) -> None:
    argv = ["sh", "-c", "echo out; echo err >&2; exit 3"]
    job = server.submit("command", params={"argv": argv})
    assert server.wait(job, "FAILED")["exit_code"] == 3
    (run,) = server.runs(job)
    for stream, text in (("stdout", "out\n"), ("stderr", "err\n")):
        assert server.http.get(f"/api/job-runs/{run['run_id']}/logs/{stream}").text == text


def test_a_running_job_is_cancelled_by_request_and_a_program_by_force(
    shared: Stage, server: Server
) -> None:
    asked = server.submit("hold", "asked")
    shared.wait_for_note("asked")
    assert server.post(f"/api/jobs/{asked['job_id']}/cancel")["cancel_requested"]
    shared.let_go("asked")
    server.wait(asked, "CANCELLED")
    assert server.runs(asked)[0]["status"] == "COMPLETED"

    script = "echo program >> notes.txt; exec sleep 60"
    forced = server.submit("command", params={"argv": ["sh", "-c", script]})
    shared.wait_for_note("program")
    server.post(f"/api/jobs/{forced['job_id']}/cancel", force=True)
    assert server.wait(forced, "CANCELLED")["exit_code"] == 143


def test_a_program_that_takes_too_long_is_ended(server: Server) -> None:
    job = server.submit("command", params={"argv": ["sleep", "60"]}, timeout_s=0.3)
    server.wait(job, "TIMEOUT")
    assert server.runs(job)[0]["status"] == "FAILED"
