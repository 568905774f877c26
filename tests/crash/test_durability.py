"""A server answers a request that writes only after the log of the database was synced."""

from pathlib import Path
from typing import Any

from tests.servers import Stage
from tests.tracing import needs_strace, syncs

ROUNDS = 3


@needs_strace
def test_each_answer_to_a_write_comes_after_a_sync(stage: Stage, tmp_path: Path) -> None:
    server = stage.serve(slots=1)
    server.post("/api/queue/pause", queue="default")
    with syncs(server.pid, r"/headway\.db-wal", tmp_path / "trace") as count:

        def synced(path: str, **body: Any) -> Any:
            before = count()
            answer = server.post(path, **body)
            assert count() > before, path
            return answer

        for _ in range(ROUNDS):
            job = synced("/api/jobs", job_type="note", params={"name": "x"})
            synced("/api/jobs/batch", jobs=[{"job_type": "note", "params": {"name": "x"}}])
            synced("/api/jobs", job_type="remote", queue="far")
            claim = {"worker_id": "w", "queues": ["far"], "job_types": ["remote"], "lease": True}
            (taken,) = synced("/api/claims", **claim)["jobs"]
            lease = f"/api/leases/{taken['lease']['lease_id']}"
            synced(f"{lease}/heartbeat", worker_id="w", progress=0.5)
            synced(f"{lease}/release", worker_id="w", status="SUCCEEDED")
            synced(f"/api/jobs/{job['number']}/cancel")
