"""Kill, start again, take an image: at moments that a seeded generator chooses."""

import random
import time
from collections import Counter
from collections.abc import Callable

import msgspec

from headway.prove.controls import CONTROLS, Gardener
from headway.prove.fleet import Fleet, Member
from headway.prove.images import Images
from headway.prove.oracle import findings
from headway.prove.oracle.findings import Finding

BETWEEN_KILLS_S = (0.1, 1.0)
DOWN_S = (0.0, 0.5)
ALL_AT_ONCE = 1 / 15
"""How often a kill takes all processes, as a crash of the machine does."""

SHARES = {"server": 5, "worker": 3, "client": 2}
DRAWN_EVERY_S = 0.2


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    minutes: float
    kills: int | None
    cuts: int
    seed: int
    control: str | None


class Chaos:
    """The loop that ends and starts processes."""

    def __init__(self, fleet: Fleet, plan: Plan, tell: Callable[[float, str], None]) -> None:
        self._fleet = fleet
        self._plan = plan
        self._tell = tell
        self._chance = random.Random(plan.seed)
        self._down: dict[Member, float] = {}
        self._planted = plan.control is None
        self.images = Images(fleet, self._chance)
        self.found: list[Finding] = []

    @property
    def kills(self) -> dict[str, int]:
        """How many were killed, by kind."""
        counts: Counter[str] = Counter()
        for member in self._fleet.members:
            counts[member.kind] += member.kills
        return dict(counts)

    def run(self) -> None:
        """Until the time is up or enough were killed."""
        began = time.monotonic()
        ends = began + self._plan.minutes * 60
        kill_at = began + self._chance.uniform(*BETWEEN_KILLS_S)
        while (now := time.monotonic()) < ends and not self._has_killed_enough():
            share = self._share((now - began) / (ends - began))
            self._look_for_the_fallen()
            self._start_again(now)
            if now >= kill_at:
                self._kill(now)
                kill_at = now + self._chance.uniform(*BETWEEN_KILLS_S)
            self._take_image(share)
            self._plant(share)
            self._tell(share, f"{sum(self.kills.values())} kills, {self.images.made} images")
            due = min([kill_at, now + DRAWN_EVERY_S, *self._down.values()])
            time.sleep(max(0.0, due - time.monotonic()))

    def restore(self) -> None:
        """Start everything that is down."""
        for member in [*self._down]:
            member.start()
        self._down.clear()

    def _has_killed_enough(self) -> bool:
        if self._plan.kills is None or sum(self.kills.values()) < self._plan.kills:
            return False
        return self._planted and self.images.made >= self._images_wanted

    @property
    def _images_wanted(self) -> int:
        return self._plan.cuts if self._fleet.place.database is not None else 0

    def _share(self, of_time: float) -> float:
        """How much is done."""
        if self._plan.kills is None:
            return of_time
        return max(of_time, sum(self.kills.values()) / max(1, self._plan.kills))

    def _kill(self, now: float) -> None:
        up = [one for one in self._fleet.members if one.is_running]
        if not up:
            return
        everything = self._chance.random() < ALL_AT_ONCE
        shares = [SHARES[one.kind] for one in up]
        for victim in up if everything else self._chance.choices(up, shares):
            victim.kill(self._fleet.book)
            self._down[victim] = now + self._chance.uniform(*DOWN_S)

    def _start_again(self, now: float) -> None:
        for member in [one for one, at in self._down.items() if at <= now]:
            member.start()
            del self._down[member]

    def _look_for_the_fallen(self) -> None:
        """A process that ended without having been ended is a finding, and is started again."""
        for member in self._fleet.members:
            code = member.ended_by_itself()
            if code is not None:
                words = f"{member.name} ended by itself with {code}: {member.last_words()}"
                self.found.append(Finding(findings.PROCESSES, words))
                member.start()

    def _take_image(self, share: float) -> None:
        """Spread over the whole run."""
        if self.images.made < self._images_wanted * min(1.0, share):
            self.images.take()

    def _plant(self, share: float) -> None:
        if not self._planted and share > 1 / 3:
            assert self._plan.control is not None
            self.restore()
            CONTROLS[self._plan.control](Gardener(self._fleet))
            self._planted = True
