"""Gate 7: is there room in every limit the job uses?"""

from collections.abc import Iterator, Mapping

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.limits import Room


def check(uses: Mapping[str, int], rooms: Mapping[str, Room]) -> Closed | None:
    """Closed while for some limit `used + amount > size`."""
    full = [
        (rooms[name], amount)
        for name, amount in uses.items()
        if name in rooms and not rooms[name].fits(amount)
    ]
    if not full:
        return None
    return Closed(
        status=states.QUEUED,
        kind="limits",
        detail="; ".join(room.sentence(amount) for room, amount in full),
        blockers=tuple(blocker for room, _ in full for blocker in _blockers(room)),
        forever=any(room.size is not None and amount > room.size for room, amount in full),
    )


def _blockers(room: Room) -> Iterator[Blocker]:
    """For whom the limit is kept, and who uses it."""
    for one in room.keepers:
        said = f"keeps {one.amount} of {room.name}, starved"
        yield Blocker(kind="job", id=one.job, detail=said, since=one.since)
    for user, used in room.users:
        yield Blocker(kind="job", id=user, detail=f"uses {used} of {room.name}")
