"""Limits: a job uses an amount of some named limits and may start when each has room for it."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from headway.domain import errors
from headway.domain.jobs import Lane

CAPACITY = "capacity"
GLOBAL = "global"
STARVATION_S = 300.0
FAMILY = ":*"
"""The end of a limit's name that gives a size to each key of its family."""

_WINDOWS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}


class Rate(msgspec.Struct, frozen=True):
    """So many starts in a window of so many seconds."""

    amount: int
    window_s: int


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A named limit: how much may be used at once, or how much within a window, or both."""

    name: str
    size: int | None = None
    rate: str | None = None


class Keeper(msgspec.Struct, frozen=True, kw_only=True):
    """A starved job with a reserved part of a limit, and since when it has waited for it."""

    job: str
    amount: int
    since: datetime | None


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A start that counts against a rate, and when it leaves the window."""

    job: str
    amount: int
    at: datetime
    until: datetime


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """A limit with what is used of it now, and what is reserved for starved jobs."""

    name: str
    size: int | None
    used: int = 0
    reserved: int = 0
    rate: Rate | None = None
    started: int = 0
    users: tuple[tuple[str, int], ...] = ()
    keepers: tuple[Keeper, ...] = ()
    starts: tuple[Start, ...] = ()

    def fits(self, amount: int) -> bool:
        """Whether so much more may start now."""
        return self.has_space(amount) and not self.lacks_starts(amount)

    @property
    def left(self) -> int | None:
        """How much more may start now, but for what is kept; None if there is no end to it."""
        space = None if self.size is None else self.size - self.used
        if self.rate is None:
            return space
        starts = self.rate.amount - self.started
        return starts if space is None else min(space, starts)

    def kept_from(self, amount: int) -> int:
        """What is reserved for others; a job that uses nothing is not affected."""
        return self.reserved if amount else 0

    def has_space(self, amount: int) -> bool:
        """Whether so much more can be used at once."""
        return self.size is None or self.used + self.kept_from(amount) + amount <= self.size

    @property
    def most(self) -> int | None:
        """How much could start if nothing of it were used; None if there is no end to it."""
        known = [self.size, self.rate.amount if self.rate else None]
        return min((one for one in known if one is not None), default=None)

    def is_too_small(self, amount: int) -> bool:
        """Whether so much would not fit even if nothing of it were used."""
        return self.most is not None and amount > self.most

    def lacks_starts(self, amount: int) -> bool:
        """Whether the starts within the window leave no room for so much."""
        if self.rate is None:
            return False
        return self.started + self.kept_from(amount) + amount > self.rate.amount

    def opens_at(self, amount: int) -> datetime | None:
        """When enough of the known starts have left the window for so much."""
        started = self.started + self.kept_from(amount)
        for one in self.starts:
            started -= one.amount
            if self.rate is not None and started + amount <= self.rate.amount:
                return one.until
        return None

    def sentence(self, amount: int) -> str:
        """Why so much does not fit."""
        kept = f" + {self.reserved} kept for a starved job" if self.kept_from(amount) else ""
        if self.size is not None and not self.has_space(amount):
            said = kept if self.used + amount <= self.size else ""
            return f"{self.name}: used {self.used}{said} + {amount} > {self.size}"
        rate = self.rate or Rate(0, 0)
        if amount > rate.amount:
            return f"{self.name}: {amount} > {rate.amount} started in {rate.window_s} s"
        return f"{self.name}: {self.started}{kept} of {rate.amount} started in {rate.window_s} s"

    def keep_for(self, keeper: Keeper) -> "Room":
        """The room after a starved job reserved its amount."""
        return msgspec.structs.replace(
            self, reserved=self.reserved + keeper.amount, keepers=(*self.keepers, keeper)
        )


@lru_cache(maxsize=50_000)
def families_of(name: str) -> tuple[str, ...]:
    """The families that a limit may belong to, the closest first: `a:b:*` and `a:*` for `a:b:c`."""
    parts = name.split(":")
    return tuple(":".join(parts[:end]) + FAMILY for end in range(len(parts) - 1, 0, -1))


def is_known(name: str, defined: Collection[str]) -> bool:
    """Whether a limit or its family is among those that are defined."""
    return name in defined or any(family in defined for family in families_of(name))


class Rooms(dict[str, Room]):
    """Each limit by name; a key whose family has a size has its own room, made when asked for."""

    def __init__(
        self, rooms: Mapping[str, Room], families: Mapping[str, Room], used: Mapping[str, int]
    ) -> None:
        super().__init__(rooms)
        self.users: Mapping[str, Sequence[tuple[str, int]]] = {}
        """Which jobs use how much of each, if that was asked for."""
        self._families = families
        self._unlimited: set[object] = set()
        self._used = used

    def __contains__(self, name: object) -> bool:
        """Whether there is such a limit, or a family that it belongs to."""
        if super().__contains__(name):
            return True
        if not self._families or name in self._unlimited:
            return False
        if any(family in self._families for family in families_of(str(name))):
            return True
        self._unlimited.add(name)
        return False

    def __missing__(self, name: str) -> Room:
        for family in families_of(name):
            if family in self._families:
                self[name] = msgspec.structs.replace(
                    self._families[family],
                    name=name,
                    used=self._used.get(name, 0),
                    users=tuple(self.users.get(name, ())),
                )
                return self[name]
        raise KeyError(name)

    def copy(self) -> "Rooms":
        """The same rooms, to reserve some of."""
        made = Rooms(self, self._families, self._used)
        made.users = self.users
        return made


def filled_in(name: str, params: Mapping[str, Any]) -> str:
    """The limit's name with each `{param}` replaced by its value; raises InvalidRequest."""

    def value_of(match: re.Match[str]) -> str:
        value = params.get(match[1])
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            said = "is missing" if match[1] not in params else "must be a text or a whole number"
            raise errors.InvalidRequest(
                f"params.{match[1]}", f"{said}: the limit {name!r} takes its key from it"
            )
        return str(value)

    return _PLACEHOLDER.sub(value_of, name)


def is_by_key(name: str) -> bool:
    """Whether the limit's name takes a param."""
    return _PLACEHOLDER.search(name) is not None


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class ConcurrencyPolicy(Protocol):
    """The plug-in point: which limits a job uses, and how much of each."""

    def uses(self, lane: Lane) -> Mapping[str, int]:
        """The limits that a job of this lane uses; limits that are not defined are unlimited."""


class StandardPolicy:
    """Global, per type, per queue, resource-based and capacity, all at once."""

    def uses(self, lane: Lane) -> Mapping[str, int]:
        """1 of `global`, its type and its queue, its cost of `capacity`, and what it names.

        A job need not name the first four; one that does may use more of them.
        """
        implied = _implied(lane.job_type, lane.queue, lane.cost_units)
        return {**implied, **lane.limits} if lane.limits else implied


@lru_cache(maxsize=10_000)
def _implied(job_type: str, queue: str, cost_units: int) -> Mapping[str, int]:
    """Asked for every lane at every claim and every end."""
    return {GLOBAL: 1, f"type:{job_type}": 1, f"queue:{queue}": 1, CAPACITY: cost_units}


def read_rate(text: str) -> Rate:
    """`60/min`, `5/s`, `100/10m` as a rate."""
    match = re.fullmatch(r"(\d{1,9})\s*/\s*(\d{0,6})\s*([a-z]+)", text.strip().lower())
    if not match or match[3] not in _WINDOWS or int(match[1]) < 1 or match[2] == "0":
        raise errors.InvalidRequest(
            "rate", f"cannot read {text!r}; write for example 60/min or 5/s"
        )
    return Rate(int(match[1]), int(match[2] or 1) * _WINDOWS[match[3]])
