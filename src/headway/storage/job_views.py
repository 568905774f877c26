"""Jobs as they are shown."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headway.domain.jobs import Approval, Job, Lane, Progress, RetryState, Terms, WaitReason
from headway.domain.states import SUSPENDED, WAITING_ON_DEPS, JobStatus
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.question import Row
from headway.storage.engine.transaction import Transaction


def read(tx: Transaction, numbers: Sequence[int], largest: int | None = None) -> list[Job]:
    """Some jobs as they are shown, in the order asked for; params that are larger are left out."""
    if not numbers:
        return []
    rows = tx.rows("job_views", numbers=records.listed(numbers), largest=largest)
    found = {row["number"]: row for row in rows}
    waiting = [
        row["number"]
        for row in rows
        if row["open_deps"] and row["status"] in (WAITING_ON_DEPS, SUSPENDED)
    ]
    on = {
        row["job_number"]: row
        for row in (
            tx.rows("first_open_dependency", numbers=records.listed(waiting)) if waiting else ()
        )
    }
    return [_view(found[number], on.get(number)) for number in numbers if number in found]


def of_new(row: Mapping[str, Any], lane: Lane, params: str) -> Job:
    """A new job as it is shown, from the row that was written."""
    return _view(
        {
            **_NOT_YET,
            **row,
            "queue": lane.queue,
            "job_type": lane.job_type,
            "cost_units": lane.cost_units,
            "requires": codec.dump(lane.requires) if lane.requires else "[]",
            "limits": codec.dump(lane.limits) if lane.limits else "{}",
            "params": params,
        },
        None,
    )


_NOT_YET: dict[str, Any] = dict.fromkeys(
    [
        *(
            "chain_id",
            "retry_of_id",
            "retried_by_id",
            "error",
            "live_progress",
            "params_size",
            "cancel",
            "worker_id",
            "claim_expires_at",
        ),
        *("run_id", "progress", "started_at", "finished_at", "exit_code"),
    ]
) | {"retry_state": RetryState.NONE.value}
"""The columns of a view that have no value when a job begins."""


def _view(row: Row, waits_on: Row | None) -> Job:
    terms = codec.load_terms(row["terms"])
    shown = msgspec.structs.asdict(terms)
    shown["approval"] = Approval(row["approval"]) if row["approval"] else None
    reason = _reason(row, _name_of(waits_on, terms) if waits_on else None)
    progress = row["live_progress"] or row["progress"]
    retry_state = RetryState(row["retry_state"])
    return Job(
        job_id=row["job_id"],
        number=row["number"],
        job_type=row["job_type"],
        queue=row["queue"],
        params={} if row["params"] in (None, "{}") else codec.load(row["params"]),
        omitted=records.omitted(params=row["params_size"]),
        priority=row["priority"],
        position=row["position"],
        status=JobStatus(row["status"]),
        wait_reason=reason,
        waited_on=records.words(row["waited_on"]),
        scheduled_for=moments.maybe_from_millis(row["scheduled_for"]),
        template_id=row["template_id"],
        schedule_id=row["schedule_id"],
        fire_time=moments.maybe_from_millis(row["fire_time"]),
        group_id=row["group_id"],
        retry_of=row["retry_of_id"],
        retried_by=row["retried_by_id"],
        chain_id=row["chain_id"] or row["job_id"],
        attempt=row["attempt"],
        generation=row["generation"],
        retry_state=retry_state,
        permanently_failed=retry_state is RetryState.EXHAUSTED,
        crashes=row["crashes"],
        cost_units=row["cost_units"],
        requires=records.words(row["requires"]),
        limits={} if row["limits"] == "{}" else codec.load(row["limits"]),
        idempotency_key=row["idempotency_key"],
        unique_key=row["unique_key"],
        dedup_key=row["dedup_key"],
        created_at=moments.from_millis(row["created_at"]),
        queued_at=moments.maybe_from_millis(row["queued_at"]),
        started_at=moments.maybe_from_millis(row["started_at"]),
        finished_at=moments.maybe_from_millis(row["finished_at"]),
        start_by=moments.maybe_from_millis(row["start_by"]),
        claim_expires_at=moments.maybe_from_millis(row["claim_expires_at"]),
        worker_id=row["worker_id"],
        run_id=row["run_id"],
        exit_code=row["exit_code"],
        error=row["error"].strip().partition("\n")[0] if row["error"] else None,
        cancel_requested=row["cancel"] is not None,
        progress=msgspec.json.decode(progress, type=Progress) if progress else None,
        **shown,
    )


def _name_of(waits_on: Row, terms: Terms) -> str:
    """The job or the group that is waited for, as it was named, or a child."""
    chain = waits_on["chain"]
    named = [f"group {one.group}" for one in terms.after_groups if one.number == chain]
    named += [f"job {one.job}" for one in terms.after if one.number == chain]
    return named[0] if named else f"job {waits_on['job_id']}"


def _reason(row: Row, waits_on: str | None) -> WaitReason | None:
    if row["wait_kind"] is None:
        return None
    detail = f"waiting on {waits_on}" if waits_on else row["wait_detail"]
    return WaitReason(kind=row["wait_kind"], detail=detail)
