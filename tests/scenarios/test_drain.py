"""`headway workers drain`: a worker elsewhere finishes and leaves, a server's stays and rests."""

from tests.servers import Stage, wait_for


def test_a_drained_worker_finishes_its_job_and_exits(stage: Stage) -> None:
    server = stage.serve(app=None)
    worker = stage.work(server)
    held = server.submit("hold", "a")
    wait_for(lambda: server.job(held)["status"] == "RUNNING", "the job to run")
    name = server.job(held)["worker_id"]
    shown = server.post(f"/api/workers/{name}/drain")
    assert shown["holds"] == [held["job_id"]]
    later = server.submit("note", "b")
    stage.let_go("a")
    server.wait(held, "SUCCEEDED")
    assert worker.process.wait(30) == 0
    assert server.job(later)["status"] == "QUEUED"
    assert name not in str(server.get("/api/workers"))


def test_an_idle_worker_that_waits_for_jobs_is_told_at_once(stage: Stage) -> None:
    server = stage.serve(app=None)
    worker = stage.work(server)
    found = wait_for(
        lambda: [one for one in server.get("/api/workers")["items"] if not one["built_in"]],
        "the worker",
    )
    server.post(f"/api/workers/{found[0]['worker_id']}/drain")
    assert worker.process.wait(10) == 0


def test_the_worker_of_a_server_rests_until_that_is_undone(stage: Stage) -> None:
    server = stage.serve()
    (built_in,) = server.get("/api/workers")["items"]
    server.post(f"/api/workers/{built_in['worker_id']}/drain")
    job = server.submit("note", "a")
    gates = server.get(f"/api/jobs/{job['job_id']}/why")["gates"]
    assert gates[-1]["blockers"][0]["status"] == "draining"
    server.post(f"/api/workers/{built_in['worker_id']}/drain", drained=False)
    server.wait(job, "SUCCEEDED")
