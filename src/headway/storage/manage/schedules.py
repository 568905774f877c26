"""Schedules and their fires as they are kept."""

from datetime import datetime
from functools import partial

import msgspec

from headway.domain.manage.schedules import Schedule
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine import codec, slices
from headway.storage.engine.question import Row
from headway.storage.engine.slices import Sized, Slice
from headway.storage.engine.transaction import Transaction


def find(tx: Transaction, name: str) -> Schedule | None:
    """A schedule by id or name."""
    row = tx.row("schedule_by_id_or_name", name=name)
    return _schedule(row) if row else None


def page(
    tx: Transaction, *, template_id: str | None, before: str | None, count: int
) -> Slice[Schedule]:
    """Schedules, newest first."""
    rows = tx.rows("schedules", template_id=template_id, before=before, count=count + 1)
    sized = [Sized(row["schedule_id"], row["size"]) for row in rows]
    return slices.read(sized, count, partial(_load, tx))


def _load(tx: Transaction, ids: list[str]) -> list[Schedule]:
    rows = tx.rows("schedule_bodies", schedule_ids=records.listed(ids))
    return [_schedule(row) for row in rows]


def due(tx: Transaction, count: int) -> list[Schedule]:
    """Schedules that fire now or should have, the most overdue first."""
    return [_schedule(row) for row in tx.rows("due_schedules", now=tx.now_ms, count=count)]


def ahead(tx: Transaction, after: str, count: int) -> list[Schedule]:
    """Schedules that have yet to fire, by id."""
    rows = tx.rows("schedules_ahead", now=tx.now_ms, after=after, count=count)
    return [_schedule(row) for row in rows]


def of_app(tx: Transaction, app: str) -> list[Schedule]:
    """The schedules that the code of an app asks for, oldest first."""
    return [_schedule(row) for row in tx.rows("schedules_of_app", app=app)]


def insert(tx: Transaction, schedule: Schedule) -> None:
    """A new schedule."""
    tx.do("insert_schedule", **_columns(schedule), app=schedule.app)


def update(tx: Transaction, schedule: Schedule) -> None:
    """A changed schedule."""
    tx.do("update_schedule", **_columns(schedule))


def remove(tx: Transaction, schedule_id: str) -> None:
    """A schedule is gone; its jobs stay."""
    tx.do("remove_schedule", schedule_id=schedule_id)


def take_fire(tx: Transaction, schedule_id: str, fire_time: datetime) -> bool:
    """Whether this fire is ours: each is given away once."""
    millis = moments.to_millis(fire_time)
    taken = tx.do("insert_fire", schedule_id=schedule_id, fire_time=millis, job_number=None)
    return taken == 1


def set_fire_job(tx: Transaction, schedule_id: str, fire_time: datetime, number: int) -> None:
    """Which job a fire made."""
    millis = moments.to_millis(fire_time)
    tx.do("set_fire_job", schedule_id=schedule_id, fire_time=millis, job_number=number)


def has_active_job(tx: Transaction, schedule_id: str) -> bool:
    """Whether a job of an earlier fire has not ended."""
    return tx.row("active_jobs_of_schedule", schedule_id=schedule_id) is not None


def _schedule(row: Row) -> Schedule:
    return msgspec.json.decode(row["body"], type=Schedule)


def _columns(schedule: Schedule) -> dict[str, str | int | None]:
    return {
        "schedule_id": schedule.schedule_id,
        "template_id": schedule.template_id,
        "next_at": moments.maybe_to_millis(schedule.next_trigger_at),
        "body": codec.dump(schedule),
    }
