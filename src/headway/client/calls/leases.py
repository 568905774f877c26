"""Calls of workers: claim, prepare, lease, heartbeat, release."""

from headway.api.lease_shapes import (
    ClaimBody,
    Claimed,
    DrainBody,
    HeartbeatAnswer,
    HeartbeatBody,
    Heartbeats,
    ItemAnswers,
    LeaseAnswer,
    LeaseBody,
    LogAnswer,
    LogBody,
    LogPieces,
    ReleaseAnswer,
    ReleaseBody,
    Releases,
    WorkerBody,
)
from headway.api.operation import Page
from headway.client.calls.call import Call, JobRef, job_step, step
from headway.domain.jobs import Job
from headway.domain.leases import Lease
from headway.domain.workers import Worker


def list_workers() -> Call[Page[Worker]]:
    """List known workers."""
    return Call("GET", "/api/workers", Page[Worker])


def leave(worker_id: str) -> Call[WorkerBody]:
    """Sign a worker off."""
    return Call("DELETE", f"/api/workers/{step(worker_id)}", WorkerBody)


def drain_worker(worker_id: str, *, drained: bool = True) -> Call[Worker]:
    """Have a worker take no more jobs, or take some again."""
    return Call("POST", f"/api/workers/{step(worker_id)}/drain", Worker, DrainBody(drained=drained))


def claim(body: ClaimBody) -> Call[Claimed | None]:
    """Ask for jobs; None when there are none. Only a server waits for some."""
    return Call("POST", "/api/claims", Claimed, body, safe_to_repeat=False)


def preparing(job: JobRef, worker_id: str) -> Call[Job]:
    """Say that a claimed job's runtime is being set up."""
    return Call(
        "POST", f"/api/jobs/{job_step(job)}/preparing", Job, WorkerBody(worker_id=worker_id)
    )


def request_lease(body: LeaseBody) -> Call[LeaseAnswer]:
    """Ask to start a claimed job."""
    return Call("POST", "/api/leases", LeaseAnswer, body, safe_to_repeat=False)


def get_lease(lease_id: str) -> Call[Lease]:
    """Get one lease."""
    return Call("GET", f"/api/leases/{step(lease_id)}", Lease)


def heartbeat(lease_id: str, body: HeartbeatBody) -> Call[HeartbeatAnswer]:
    """Keep a lease alive."""
    return Call("POST", f"/api/leases/{step(lease_id)}/heartbeat", HeartbeatAnswer, body)


def heartbeats(body: Heartbeats) -> Call[ItemAnswers]:
    """Keep several leases alive."""
    return Call("POST", "/api/leases/heartbeats", ItemAnswers, body)


def release(lease_id: str, body: ReleaseBody) -> Call[ReleaseAnswer]:
    """Report how a run ended; the same report may be repeated."""
    return Call("POST", f"/api/leases/{step(lease_id)}/release", ReleaseAnswer, body)


def releases(body: Releases) -> Call[ItemAnswers]:
    """Report how several runs ended."""
    return Call("POST", "/api/leases/releases", ItemAnswers, body)


def send_log(lease_id: str, body: LogBody) -> Call[LogAnswer]:
    """Add to a run's output; the same piece may be sent again."""
    return Call("POST", f"/api/leases/{step(lease_id)}/logs", LogAnswer, body)


def send_logs(body: LogPieces) -> Call[ItemAnswers]:
    """Add to the output of several runs."""
    return Call("POST", "/api/leases/logs", ItemAnswers, body)
