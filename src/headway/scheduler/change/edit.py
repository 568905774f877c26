"""Edit a waiting job: its params, priority, position or time."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headway.domain import deadlines, errors, events
from headway.domain.jobs import POSITION_GAP
from headway.domain.requests import job_requests
from headway.domain.requests.job_requests import JobPatch
from headway.domain.values import moments, priorities
from headway.scheduler.admit import lane_waits
from headway.scheduler.change import waiting_jobs
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.submit import named_jobs, params, references
from headway.scheduler.submit.named_jobs import EarlierJobs
from headway.storage import chains, job_changes, jobs, lanes
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord
from headway.storage.upkeep import retention

FURTHEST_POSITION = 10**15


def edit(scheduler: Scheduler, tx: Transaction, reference: str | int, patch: JobPatch) -> int:
    """Change a job that no worker has claimed; return its number."""
    record = waiting_jobs.read(tx, reference)
    fields = [name for name, value in msgspec.structs.asdict(patch).items() if value is not _UNSET]
    if not fields:
        raise errors.InvalidRequest(
            "", "nothing to change: give params, priority, position or scheduled_for"
        )
    changed = _changed(scheduler, tx, record, patch)
    if record.is_ready:
        lane_waits.note(scheduler, tx)  # it may stop being ready
    job_changes.change(tx, changed)
    if changed.payload_id != record.payload_id:
        _drop_payload(tx, record)
    tx.note(events.CHANGED, record.number, {"fields": fields})
    waiting_jobs.admit_again(scheduler, tx, [record])
    return record.number


def reprioritise(
    scheduler: Scheduler, tx: Transaction, records: Sequence[JobRecord], priority: int
) -> None:
    """Waiting jobs go to the tail of this priority, in the order in which they waited."""
    moved = sorted(
        (record for record in records if record.priority != priority),
        key=lambda record: record.order,
    )
    if not moved:
        return
    if any(record.is_ready for record in moved):
        lane_waits.note(scheduler, tx)
    first = jobs.allocate(tx, positions=len(moved)).position
    for step, record in enumerate(moved):
        position = first + step * POSITION_GAP
        changed = job_changes.unchanged(record)._replace(priority=priority, position=position)
        job_changes.change(tx, changed)
        tx.note(events.CHANGED, record.number, {"fields": ["priority"]})
    waiting_jobs.admit_again(scheduler, tx, moved)


_UNSET = msgspec.UNSET


def _changed(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, patch: JobPatch
) -> job_changes.Change:
    change = job_changes.unchanged(record)
    if patch.params is not _UNSET:
        change = change._replace(payload_id=_new_payload(scheduler, tx, record, patch.params))
    if patch.priority is not _UNSET:
        change = change._replace(priority=priorities.read(patch.priority))
        if change.priority != record.priority:
            change = change._replace(position=jobs.allocate(tx, positions=1).position)
    if patch.position is not _UNSET:
        if abs(patch.position) > FURTHEST_POSITION:
            raise errors.InvalidRequest("position", f"{patch.position} is out of range")
        change = change._replace(position=patch.position)
        job_changes.raise_position(tx, patch.position)
    if patch.scheduled_for is not _UNSET:
        job_requests.check_moment("scheduled_for", patch.scheduled_for)
        moment = moments.maybe_to_millis(patch.scheduled_for)
        late_at = deadlines.start_by(record.terms.start_within_s, moment, tx.now_ms)
        change = change._replace(scheduled_for=moment, delayed=0, start_by=late_at)
        if late_at is not None:
            tx.due_at(late_at)
    return change


def _new_payload(
    scheduler: Scheduler, tx: Transaction, record: JobRecord, wanted: dict[str, Any]
) -> int:
    lane = lanes.read(tx, [record.lane_id])[record.lane_id]
    checked = params.checked(scheduler, wanted)
    if checked.taken:
        (links,) = tx.ask(named_jobs.named(one.job for one in checked.taken))
        checked = references.among(checked, EarlierJobs(links), record.terms.after)
    body = params.encode(scheduler, lane.job_type, checked)
    if body == "{}":
        return 0
    payload_id = jobs.allocate(tx, payloads=1).payload_id
    job_changes.insert_payload(tx, payload_id, body, refers=bool(checked.taken))
    return payload_id


def _drop_payload(tx: Transaction, record: JobRecord) -> None:
    """The old params go, unless a run or another link of the chain has them too."""
    links = chains.links_with_history(tx, [record.chain])
    ran = retention.payloads_of_runs(tx, [link.number for link in links])
    if record.payload_id not in {link.payload_id for link in links} | ran:
        retention.delete_payload(tx, record.payload_id)
