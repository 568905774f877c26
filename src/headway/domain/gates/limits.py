"""Gate 7: is there room in every limit the job uses?"""

from collections.abc import Iterator, Mapping

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed, FullLimit
from headway.domain.manage.limits import Room
from headway.domain.values import moments


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
        blockers=tuple(blocker for room, amount in full for blocker in _blockers(room, amount)),
        full_limits=tuple(
            FullLimit(name=room.name, by_rate=room.has_space(amount)) for room, amount in full
        ),
        forever=any(room.is_too_small(amount) for room, amount in full),
    )


def kept_for(uses: Mapping[str, int], rooms: Mapping[str, Room]) -> Mapping[str, int]:
    """What is reserved for a starved job: what it lacks, or all it uses once it has room.

    Nothing is reserved for a job that can never fit.
    """
    known = {name: amount for name, amount in uses.items() if amount and name in rooms}
    if any(rooms[name].is_too_small(amount) for name, amount in known.items()):
        return {}
    lacking = {name: amount for name, amount in known.items() if not rooms[name].fits(amount)}
    return lacking or known


def _blockers(room: Room, amount: int) -> Iterator[Blocker]:
    """For which jobs the limit is kept, which use it, and which starts fill its rate.

    A limit that is too small for the job is named itself.
    """
    if room.is_too_small(amount):
        yield Blocker(kind="limit", id=room.name, detail=f"allows at most {room.most}")
    for one in room.keepers if amount else ():
        said = f"keeps {one.amount} of {room.name}, starved"
        yield Blocker(kind="job", id=one.job, detail=said, since=one.since)
    if not room.has_space(amount):
        for user, used in room.users:
            if used:
                yield Blocker(kind="job", id=user, detail=f"uses {used} of {room.name}")
    if room.lacks_starts(amount):
        opens = None if room.is_too_small(amount) else room.opens_at(amount)
        if opens is not None:
            said = f"opens at {moments.show(opens)}"
            yield Blocker(kind="rate", id=room.name, detail=said)
        for start in room.starts:
            said = f"used {start.amount} of {room.name} until {moments.show(start.until)}"
            yield Blocker(kind="job", id=start.job, detail=said, since=start.at)
