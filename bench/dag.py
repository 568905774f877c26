"""DAG: layers, a chain and a join, against the same number of jobs without edges."""

import time

import msgspec

from bench.bed import bed, handlers, working
from bench.cost import Cost, Meter
from bench.drain import wait_here
from headway.domain.requests.job_requests import BatchJobRequest
from headway.scheduler.submit import submit


def flat(count: int) -> list[BatchJobRequest]:
    """Jobs without edges."""
    return [BatchJobRequest(job_type="noop", ref=str(n)) for n in range(count)]


def layers(count: int, width: int = 100, edges: int = 10) -> list[BatchJobRequest]:
    """Layers in which each job comes after ten jobs of the layer before."""
    found = []
    for n in range(count):
        layer, place = divmod(n, width)
        before = (
            [] if layer == 0 else [(layer - 1) * width + (place + k) % width for k in range(edges)]
        )
        found.append(
            BatchJobRequest(job_type="noop", ref=str(n), after=tuple(f"ref:{b}" for b in before))
        )
    return found


def join(count: int) -> list[BatchJobRequest]:
    """One job that comes after all the others."""
    last = BatchJobRequest(
        job_type="noop", ref="last", after=tuple(f"ref:{n}" for n in range(count - 1))
    )
    return [*flat(count - 1), last]


def chain(count: int) -> list[BatchJobRequest]:
    """Each job after the one before."""
    return [
        BatchJobRequest(job_type="noop", ref=str(n), after=(f"ref:{n - 1}",) if n else ())
        for n in range(count)
    ]


def together(*shapes: list[BatchJobRequest]) -> list[BatchJobRequest]:
    """Several graphs in one batch."""
    return [
        msgspec.structs.replace(
            request,
            ref=f"{shape} {request.ref}",
            after=tuple(f"ref:{shape} {str(ref).removeprefix('ref:')}" for ref in request.after),
        )
        for shape, requests in enumerate(shapes)
        for request in requests
    ]


def drain(requests: list[BatchJobRequest], db: str | None = None) -> tuple[float, Cost]:
    """Seconds to submit in one batch, and the cost to drain it with 400 slots."""
    with bed(db) as scheduler, handlers(400) as pool:
        began = time.perf_counter()
        scheduler.store.write(lambda tx: submit.submit_all(scheduler, tx, requests))
        submitted = time.perf_counter() - began
        meter = Meter()
        with working(scheduler, 400, pool):
            wait_here(scheduler, len(requests))
            return submitted, meter.cost(len(requests))
