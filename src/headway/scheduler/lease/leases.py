"""Leases: granted, denied, renewed, expired."""

from collections.abc import Collection, Sequence

from headway.domain import errors, events, leases, states
from headway.domain.gates import Closed, pause
from headway.domain.gates import limits as limits_gate
from headway.domain.leases import Lease
from headway.domain.manage.limits import Room
from headway.domain.values import moments
from headway.domain.workers import Abilities
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import BeatAnswer, Denied, Granted
from headway.scheduler.admit import lane_waits, lock_queues, lock_waits, own_gates, starvation
from headway.scheduler.admit.gate_facts import gather
from headway.scheduler.claim import start
from headway.scheduler.claim.pick import Candidate, ClaimRequest
from headway.scheduler.finish import consequences, finish
from headway.scheduler.finish.ends import Ended
from headway.scheduler.scheduler import Scheduler
from headway.storage import claims, job_changes, jobs, lanes
from headway.storage import leases as kept
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.leases import LeaseRecord, Renewal
from headway.storage.manage import limits, reservations, workers
from headway.storage.records import JobRecord


def prepare(scheduler: Scheduler, tx: Transaction, reference: str, worker_id: str) -> int:
    """The worker sets up its runtime: its claim lasts longer."""
    record = _claimed(tx, reference, worker_id)
    _keep_claim(scheduler, tx, record, status=states.PREPARING)
    tx.note(events.PREPARING, record.number, {"worker_id": worker_id})
    return record.number


def request(
    scheduler: Scheduler, tx: Transaction, reference: str, worker_id: str, ttl_s: float | None
) -> Granted | Denied:
    """Start a claimed job if every gate is open now; otherwise say when to come back."""
    if (lease := _granted_before(scheduler, tx, reference, worker_id)) is not None:
        return Granted(lease=lease)
    record = _claimed(tx, reference, worker_id)
    closed = own_gates.first_closed(record, gather(scheduler, tx, [record]))
    if closed is not None and closed.status in states.TERMINAL:
        return _end(scheduler, tx, record, closed)
    denied = _reason_to_deny(scheduler, tx, record, closed)
    if denied is None:
        lane = lanes.read(tx, [record.lane_id])[record.lane_id]
        candidate = Candidate(job=record, lane=lane)
        wanted = ClaimRequest(worker_id=worker_id, abilities=Abilities(), ttl_s=ttl_s)
        rates = limits.rates(tx)
        behind = lock_waits.behind(scheduler, tx, [record])
        with lane_waits.kept(scheduler, tx):
            started, unfilled = start.start(scheduler, tx, wanted, [candidate], rates)
        if unfilled:
            finish.refuse(scheduler, tx, unfilled)
            return Denied(retry_after_ms=0, reason=", ".join(unfilled.values()))
        if freed := lock_queues.keys_of([record]):
            consequences.admit_or_end(scheduler, tx, behind, freed=freed)
        assert started[0].lease is not None
        return Granted(lease=started[0].lease)
    kind, reason, fullness = denied
    if record.status is not states.LEASE_PENDING or record.wait_detail != reason:
        tx.note(events.LEASE_DENIED, record.number, {"reason": reason})
    _keep_claim(
        scheduler,
        tx,
        record,
        status=states.LEASE_PENDING,
        kind=kind,
        detail=reason,
        denials=record.denials + 1,
    )
    jitter = scheduler.chance.random()
    return Denied(
        retry_after_ms=leases.back_off_ms(record.denials, fullness, jitter), reason=reason
    )


def _granted_before(
    scheduler: Scheduler, tx: Transaction, reference: str, worker_id: str
) -> Lease | None:
    """The lease that this worker was granted already: its answer was lost, so it asks again."""
    record = _of_worker(tx, reference, worker_id)
    if record.status is not states.RUNNING:
        return None
    (answer,) = heartbeat(scheduler, tx, worker_id, [HeartbeatItem(lease_id=str(record.run_id))])
    return view(tx, answer.lease_id) if answer.error is None else None


def _end(
    scheduler: Scheduler,
    tx: Transaction,
    record: JobRecord,
    closed: Closed,
) -> Denied:
    """A claimed job that can never start ends here; asking again finds that it has ended."""
    ended = Ended(
        record=record,
        status=closed.status,
        reason=closed.reason,
        gate=closed.kind,
        blockers=closed.blockers,
        retry=False,
    )
    consequences.settle(scheduler, tx, [ended])
    return Denied(retry_after_ms=0, reason=closed.detail)


def _reason_to_deny(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, closed: Closed | None
) -> tuple[str, str, float] | None:
    """Which gate is closed for a claimed job, with how full the fullest limit is."""
    if closed is not None:
        return closed.kind, closed.detail, 1.0
    lane = lanes.read(tx, [record.lane_id])[record.lane_id]
    rooms = starvation.Rooms(scheduler, tx).seen_by(record.number)
    uses = scheduler.concurrency.uses(lane)
    if closed := limits_gate.check(uses, rooms):
        return (
            closed.kind,
            closed.detail,
            max(_fullness(rooms[name]) for name in uses if name in rooms),
        )
    if closed := pause.check(lane, limits.pauses(tx), reservations.waiting(tx)):
        return closed.kind, closed.detail, 1.0
    return None


def _fullness(room: Room) -> float:
    return 1.0 if not room.size else room.used / room.size


def _claimed(tx: Transaction, reference: str, worker_id: str) -> JobRecord:
    record = _of_worker(tx, reference, worker_id)
    if record.status not in states.CLAIMS:
        raise errors.IllegalMove(record.job_id, record.status, states.RUNNING)
    return record


def _of_worker(tx: Transaction, reference: str, worker_id: str) -> JobRecord:
    """A job that this worker took; of others it learns nothing, not even that they exist."""
    try:
        record = jobs.read_one(tx, reference)
    except errors.NotFound:
        raise errors.NotClaimed(worker_id, reference) from None
    if record.worker_id != worker_id:
        raise errors.NotClaimed(worker_id, reference)
    return record


def _keep_claim(
    scheduler: Scheduler,
    tx: Transaction,
    record: JobRecord,
    *,
    status: states.JobStatus,
    kind: str | None = None,
    detail: str | None = None,
    denials: int = 0,
) -> None:
    states.check(record.job_id, record.status, status)
    expires = tx.now_ms + int(scheduler.rules.claim_ttl_s * 1000)
    claim = claims.Claim(
        number=record.number,
        status=status,
        worker_id=record.worker_id,
        claim_expires_at=expires,
        wait_kind=kind,
        wait_detail=detail,
        denials=denials,
        limited_since=_limited_since(tx, record, kind),
    )
    claims.keep(tx, [claim])
    if kind is not None and kind not in record.waited_on:
        job_changes.note_waited_on(tx, {record.number: (*record.waited_on, kind)})
    tx.due_at(expires)


def _limited_since(tx: Transaction, record: JobRecord, kind: str | None) -> int | None:
    """A limit has kept a job waiting until a gate before it closes."""
    if kind == "limits":
        return record.limited_since or tx.now_ms
    return record.limited_since if kind in AFTER_LIMITS else None


AFTER_LIMITS = (None, "paused", "reservation")
"""What keeps a claimed job waiting after its limits were checked."""


def heartbeat(
    scheduler: Scheduler,  # noqa: ARG001  (as every verb of a worker)
    tx: Transaction,
    worker_id: str,
    beats: Sequence[HeartbeatItem],
) -> list[BeatAnswer]:
    """Renew leases, many at once; each is answered for itself."""
    live = kept.live(tx, (beat.lease_id for beat in beats))
    answers, renewals = [], []
    for beat in beats:
        lease = live.get(beat.lease_id)
        if lease is None or lease.worker_id != worker_id:
            error = _why_not_held(tx, lease, beat.lease_id, worker_id)
            answers.append(BeatAnswer(lease_id=beat.lease_id, error=error))
        else:
            renewals.append(_renewal(tx, lease, beat))
            answers.append(
                BeatAnswer(
                    lease_id=beat.lease_id,
                    expires_at=moments.from_millis(renewals[-1].expires_at),
                    cancel=lease.cancel,
                )
            )
    kept.renew(tx, renewals)
    workers.touch(tx, worker_id)
    return answers


def _renewal(tx: Transaction, lease: LeaseRecord, beat: HeartbeatItem) -> Renewal:
    progress = None
    if beat.progress is not None or beat.message is not None:
        progress = codec.dump({"fraction": beat.progress, "message": beat.message, "at": tx.now})
    expires_at = leases.expires_at(tx.now_ms, lease.ttl_ms, lease.deadline)
    return Renewal(lease.lease_id, expires_at, progress)


def refusals(
    tx: Transaction, worker_id: str, lease_ids: Collection[str]
) -> dict[str, errors.HeadwayError]:
    """Why some of these leases are not held by this worker now; those that are have no reason."""
    live = kept.live(tx, lease_ids)
    held = {lease_id for lease_id, lease in live.items() if lease.worker_id == worker_id}
    return {
        lease_id: _why_not_held(tx, live.get(lease_id), lease_id, worker_id)
        for lease_id in lease_ids
        if lease_id not in held
    }


def _why_not_held(
    tx: Transaction, live: LeaseRecord | None, lease_id: str, worker_id: str
) -> errors.HeadwayError:
    lease = live or kept.ended(tx, lease_id)
    if lease is None:
        return errors.NotFound("lease", lease_id)
    if lease.worker_id != worker_id:
        return errors.ForeignLease(lease_id)
    return errors.LeaseEnded(lease_id, lease.state)


def view(tx: Transaction, lease_id: str) -> Lease:
    """A lease, live or over."""
    found = kept.live(tx, [lease_id]).get(lease_id) or kept.ended(tx, lease_id)
    if found is None:
        raise errors.NotFound("lease", lease_id)
    return Lease(
        lease_id=found.lease_id,
        job_id=found.job_id,
        worker_id=found.worker_id,
        cost_units=found.cost_units,
        ttl_s=found.ttl_ms / 1000,
        granted_at=moments.from_millis(found.granted_at),
        expires_at=moments.from_millis(found.expires_at),
        state=found.state,
    )
