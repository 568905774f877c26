"""Gate 6: are all its locks free?

Exclusive needs no holder; shared needs no exclusive holder. A waiting exclusive is not overtaken
by shared ones that stand behind it in the queue.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Lock, Mode


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A running job that holds a lock, or a waiting one ahead in its queue."""

    key: str
    mode: Mode
    job: str
    since: datetime | None = None


def check(
    wanted: Sequence[Lock], holders: Sequence[Holder], ahead: Sequence[Holder] = ()
) -> Closed | None:
    """All or nothing: one lock that is not free closes the gate. `ahead` are waiting exclusives."""
    modes = {lock.key: lock.mode for lock in wanted}
    held = [one for one in holders if one.key in modes and _conflict(modes[one.key], one.mode)]
    first = [one for one in ahead if modes.get(one.key) is Mode.SHARED]
    if not held and not first:
        return None
    return _closed(
        [
            *(_blocker(one, f"holds {one.key} ({one.mode})") for one in held),
            *(_blocker(one, f"waits for {one.key} (exclusive) and stands ahead") for one in first),
        ]
    )


def behind(first: Sequence[Holder]) -> Closed:
    """The locks are free, but jobs ahead are ready to take them."""
    return _closed(
        [_blocker(one, f"may take {one.key} ({one.mode}) and goes first") for one in first]
    )


def _closed(blockers: Sequence[Blocker]) -> Closed:
    return Closed(
        status=states.WAITING_ON_LOCKS,
        kind="locks",
        detail="waiting on locks",
        blockers=tuple(blockers),
    )


def _conflict(wanted: Mode, held: Mode) -> bool:
    return Mode.EXCLUSIVE in (wanted, held)


def _blocker(one: Holder, detail: str) -> Blocker:
    return Blocker(kind="job", id=one.job, detail=detail, since=one.since)
