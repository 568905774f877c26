"""Schedules: every fire time makes one job, and none that is to be made up for is left out."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.simulation.ledger import Broken

from headway.domain.values import moments

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRED = "SELECT data FROM events WHERE kind = 'schedule.fired'"
FIRES = "SELECT schedule_id, fire_time FROM fires"
OVERLAPS = """
SELECT fired.job_number AS number, other.number AS other
FROM schedules s
JOIN jobs j ON j.schedule_id = s.schedule_id AND j.retry_of IS NULL
JOIN fires f ON f.schedule_id = s.schedule_id AND f.job_number = j.number
JOIN events fired ON fired.job_number = j.number AND fired.kind = 'schedule.fired'
JOIN jobs other ON other.schedule_id = s.schedule_id AND other.number < j.number
WHERE s.body LIKE '%"overlap":"skip"%' AND NOT EXISTS (
    SELECT 1 FROM events e WHERE e.job_number = other.number AND e.kind = 'job.finished'
    AND e.seq < fired.seq)
"""
SCHEDULES = "SELECT schedule_id, body FROM schedules"


def check_once(world: "World") -> None:
    """A fire time of a schedule made at most one job."""
    told = [json.loads(row["data"]) for row in world.store.read(lambda tx: tx.select(FIRED, {}))]
    made = Counter((one["schedule_id"], one["fire_time"]) for one in told if not one.get("by_hand"))
    for (schedule_id, fire_time), count in made.items():
        if count > 1:
            raise Broken(f"schedule {schedule_id} fired {count} times for {fire_time}")


def check_overlaps(world: "World") -> None:
    """A schedule that must not overlap fired only when the jobs of earlier fires had ended."""
    for row in world.store.read(lambda tx: tx.select(OVERLAPS, {})):
        raise Broken(f"a schedule made job {row['number']} while job {row['other']} was active")


def check_all(world: "World") -> None:
    """Schedules that make up for every fire have fired at every time up to now.

    Where the clock was set, times were missed or came twice, and nobody else knows which.
    """
    if world.counts["the clock is set"]:
        return
    fired: dict[str, set[datetime]] = {}
    for row in world.store.read(lambda tx: tx.select(FIRES, {})):
        moment = moments.from_millis(row["fire_time"])
        fired.setdefault(row["schedule_id"], set()).add(moment)
    for row in world.store.read(lambda tx: tx.select(SCHEDULES, {})):
        name, body = row["schedule_id"], json.loads(row["body"])
        if body["catchup"] == "all" and name not in world.ledger.changed_schedules:
            expected = set(_times(body, world.clock.now()))
            if expected != fired.get(name, set()):
                raise Broken(f"schedule {name} should have fired at {sorted(expected)}")


def _times(body: dict[str, Any], now: datetime) -> Iterator[datetime]:
    made = datetime.fromisoformat(body["created_at"])
    if body.get("at") is not None:
        at = datetime.fromisoformat(body["at"])
        if at <= now:
            yield at
        return
    every = timedelta(minutes=1) if body.get("cron") else timedelta(seconds=body["every"])
    following = made.replace(second=0, microsecond=0) + every if body.get("cron") else made + every
    while following <= now:
        yield following
        following += every
