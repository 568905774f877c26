"""A small world in which people and workers do anything, in any order, from a seed."""

import contextlib
import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from tests.helpers import MovableClock, ask_lease, claim, finish, newest_numbers, submit
from tests.scheduler.asking import keep_time, register, rewound

from headway.domain import errors, states
from headway.domain.jobs import Job, Mode, Policy
from headway.domain.manage.groups import GroupMode, OnFailure
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.job_requests import JobPatch
from headway.domain.runs import RunStatus
from headway.protocol.work_shapes import HeartbeatItem
from headway.protocol.work_values import Granted, Started
from headway.scheduler.change import approvals, cancel, edit, move, pause
from headway.scheduler.claim import claims
from headway.scheduler.lease import leases
from headway.scheduler.manage import groups, limits, markers
from headway.scheduler.scheduler import Rules, Scheduler
from headway.scheduler.upkeep import direct
from headway.storage import job_views
from headway.storage.manage import reservations

TYPES = ("a", "b", "c")
QUEUES = ("p", "q")
KEYS = ("x", "y", "z")
MARKERS = ("custom:m:a", "custom:m:b")
OUTCOMES = (*[RunStatus.COMPLETED] * 3, *[RunStatus.FAILED] * 2, RunStatus.SKIPPED)
MOST_WAITING = 8

FEATURES = (
    *("after", "needs", "locks", "approval", "delay", "requires", "costs", "types", "two-step"),
    *("pause", "reserve", "group", "leave", "resize", "change", "cancel", "rewind"),
)
"""What may happen in a world; each has some of it, so that what is rare elsewhere is common."""

LIMITS: tuple[tuple[str, int | None, str | None], ...] = (
    ("capacity", 4, None),
    ("gpu", 2, None),
    ("mail", None, "2/min"),
    ("type:a", 1, None),
    ("global", 3, "6/min"),
)
WORKERS: Mapping[str, Mapping[str, Any]] = {
    "any": {"slots": 3},
    "small": {"slots": 1, "job_types": ("a", "b"), "max_cost_units": 2},
    "able": {"slots": 2, "queues": ("q",), "capabilities": ("gpu",)},
}


def abilities(worker: str) -> dict[str, Any]:
    """What a worker takes."""
    return {name: value for name, value in WORKERS[worker].items() if name != "slots"}


class World:
    """Does what people and workers do."""

    def __init__(self, scheduler: Scheduler, clock: MovableClock, chance: random.Random) -> None:
        rules = Rules(starvation_s=20, lease_ttl_s=40, claim_ttl_s=30)
        self.scheduler = dataclasses.replace(scheduler, rules=rules)
        self._clock = clock
        self._chance = chance
        self._running: list[Started] = []
        self._features = {name for name in FEATURES if chance.random() < 0.4}
        for name, size, rate in chance.sample(LIMITS, chance.randint(1, len(LIMITS))):
            self._write(limits.put, name, size=size, rate=rate)
        self._limits = [
            one.name
            for one in scheduler.store.read(lambda tx: limits.views(self.scheduler, tx))
            if one.name in ("gpu", "mail")
        ]
        for worker in WORKERS:
            self._see(worker)

    def step(self) -> None:
        """One thing happens."""
        happens: list[Callable[[], None]] = [
            *[self._submit] * 6,
            *[self._start] * 5,
            *[self._finish] * 3,
            *[self._wait] * 3,
            *[self._claim, self._lease] * 2 * self._has("two-step"),
            *[self._pause, self._resume] * self._has("pause"),
            *[self._reserve, self._release] * self._has("reserve"),
            *[self._change, self._move] * self._has("change"),
            *[self._mark] * self._has("needs"),
            *[self._approve] * self._has("approval"),
            *[self._group] * self._has("group"),
            *[self._leave] * self._has("leave"),
            *[self._cancel] * self._has("cancel"),
            *[self._rewind] * self._has("rewind"),
            *[self._set_limit] * self._has("resize"),
        ]
        self._chance.choice(happens)()

    def _has(self, feature: str) -> bool:
        return feature in self._features

    def jobs(self, *statuses: states.JobStatus) -> list[Job]:
        """All jobs as they are stored, or those with these statuses."""
        store = self.scheduler.store
        numbers = store.read(lambda tx: newest_numbers(tx))
        shown = store.read(lambda tx: job_views.read(tx, numbers))
        return [one for one in shown if not statuses or one.status in statuses]

    def _write(self, verb: Callable[..., Any], *words: Any, **named: Any) -> Any:
        return self.scheduler.store.write(lambda tx: verb(self.scheduler, tx, *words, **named))

    def _any(self, *statuses: states.JobStatus) -> list[Job]:
        """One such job, if there is any."""
        found = self.jobs(*statuses)
        return [self._chance.choice(found)] if found else []

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _fields(self) -> dict[str, Any]:
        """A job that asks for some of what this world has."""
        fields = {
            "job_type": self._chance.choice(TYPES if self._has("types") else TYPES[:1]),
            "queue": self._chance.choice(QUEUES if self._has("pause") else QUEUES[:1]),
            "priority": self._chance.choice((0, 0, 0, 1, -1)),
            "cost_units": self._chance.choice(
                (0, 1, 1, 2, 3, 4, 5) if self._has("costs") else (1, 3)
            ),
            "limits": {
                one: self._chance.choice((1, 1, 2)) for one in self._limits if self._often(0.4)
            },
            "retry_policy": {"max_attempts": self._chance.choice((0, 1))},
        }
        wants: dict[str, Callable[[], dict[str, Any]]] = {
            "after": self._after,
            "needs": self._artifacts,
            "locks": self._locks,
            "approval": lambda: {"approval": self._often(0.2)},
            "delay": lambda: {"delay_s": self._chance.choice((None, None, 15))},
            "requires": lambda: {"requires": ["gpu"] if self._often(0.2) else []},
        }
        for feature, want in wants.items():
            if self._has(feature):
                fields |= want()
        return fields

    def _after(self) -> dict[str, Any]:
        known = [one.number for one in self.jobs()]
        some = self._chance.sample(known, min(len(known), self._chance.choice((0, 0, 1, 2))))
        return {
            "after": [{"job": one, "policy": self._chance.choice(list(Policy))} for one in some]
        }

    def _artifacts(self) -> dict[str, Any]:
        needs = self._chance.choice(((), (), (MARKERS[0],), MARKERS))
        made = self._chance.choice(((), *((name,) for name in MARKERS)))
        return {
            "needs": needs,
            "produces": [name for name in made if name not in needs],
            "missing_producer": self._chance.choice(("block", "wait")),
        }

    def _locks(self) -> dict[str, Any]:
        keys = self._chance.sample(KEYS, self._chance.choice((0, 1, 1, 2, 3)))
        return {"locks": [{"key": key, "mode": self._chance.choice(list(Mode))} for key in keys]}

    def _has_room(self) -> bool:
        return len(self.jobs(*states.WAITING)) < MOST_WAITING

    def _submit(self) -> None:
        if self._has_room():
            submit(self.scheduler, **self._fields())

    def _group(self) -> None:
        if self._has_room():
            members = [self._fields() for _ in range(2)]
            wanted = {
                "mode": self._chance.choice(list(GroupMode)),
                "on_failure": self._chance.choice(list(OnFailure)),
                "jobs": members,
            }
            with contextlib.suppress(errors.DependencyCycle):
                self._write(groups.create, msgspec.convert(wanted, GroupRequest))

    def _see(self, worker: str) -> None:
        register(self.scheduler, worker, **WORKERS[worker])

    def _start(self) -> None:
        worker, count = self._chance.choice(list(WORKERS)), self._chance.choice((1, 1, 2))
        self._see(worker)
        self._running += claim(self.scheduler, count, worker_id=worker, **abilities(worker))

    def _claim(self) -> None:
        worker = self._chance.choice(list(WORKERS))
        self._see(worker)
        claim(self.scheduler, worker_id=worker, lease=False, **abilities(worker))

    def _lease(self) -> None:
        for one in self._any(*states.CLAIMS):
            assert one.worker_id is not None
            self._see(one.worker_id)
            if one.status is states.CLAIMED and self._often(0.3):
                self._write(leases.prepare, one.job_id, one.worker_id)
            elif isinstance(found := ask_lease(self.scheduler, one.number, one.worker_id), Granted):
                self._running.append(
                    Started(
                        number=one.number,
                        job_id=one.job_id,
                        job_type=one.job_type,
                        attempt=one.attempt,
                        params="{}",
                        timeout_s=None,
                        lease=found.lease,
                    )
                )

    def _finish(self) -> None:
        if self._running:
            one = self._running.pop(self._chance.randrange(len(self._running)))
            finish(self.scheduler, one, self._chance.choice(OUTCOMES))

    def _wait(self) -> None:
        """Time passes; most workers go on and renew what they have."""
        self._clock.move(self._chance.choice((1, 6, 15, 30)))
        if self._often(0.8):
            for worker in WORKERS:
                self._see(worker)
                held = [one.lease for one in self._running if one.lease]
                beats = [
                    HeartbeatItem(lease_id=one.lease_id) for one in held if one.worker_id == worker
                ]
                self._write(leases.heartbeat, worker, beats)
        keep_time(self.scheduler)
        live = {one.run_id for one in self.jobs(states.RUNNING)}
        self._running = [one for one in self._running if one.lease and one.lease.lease_id in live]

    def _leave(self) -> None:
        self._write(claims.leave, self._chance.choice(list(WORKERS)))

    def _pause(self) -> None:
        queue, job_type = self._chance.choice(((None, None), ("p", None), (None, "a"), (None, "b")))
        self._write(pause.pause, queue, job_type)

    def _resume(self) -> None:
        self.scheduler.store.write(lambda tx: pause.resume(self.scheduler, tx, None, None))

    def _reserve(self) -> None:
        if self.scheduler.store.read(reservations.active) is None:
            self._write(direct.reserve, "ann", None)

    def _release(self) -> None:
        found = self.scheduler.store.read(reservations.active)
        if found is not None:
            self.scheduler.store.write(
                lambda tx: direct.release(self.scheduler, tx, found.reservation_id)
            )

    def _change(self) -> None:
        for one in self._any(*states.WAITING):
            later = self._clock.now().replace(year=2027)
            patches = [JobPatch(priority=1), JobPatch(priority=0), JobPatch(scheduled_for=None)]
            patches += [JobPatch(scheduled_for=later)]
            self._write(edit.edit, one.number, self._chance.choice(patches))

    def _move(self) -> None:
        for one in self._any(*states.WAITING):
            alike = [
                other for other in self.jobs(*states.WAITING) if other.priority == one.priority
            ]
            other = self._chance.choice(alike)
            if other.number != one.number:
                self._write(move.move, one.number, before=other.number)

    def _cancel(self) -> None:
        for one in self._any(*states.WAITING, *states.CLAIMS):
            self._write(cancel.cancel, one.number)

    def _rewind(self) -> None:
        for one in self._any(*states.TERMINAL):
            try:
                rewound(self.scheduler, one.number, force=True)
            except errors.RewindRefused:
                assert self.jobs(states.RUNNING)

    def _approve(self) -> None:
        for one in self._any(states.WAITING_ON_APPROVAL):
            self._write(approvals.approve, one.number, actor="ann")

    def _mark(self) -> None:
        _, type_, key = self._chance.choice(MARKERS).split(":")
        verb = self._chance.choice((markers.put, markers.remove))
        try:
            self._write(verb, type_, key)
        except errors.NotFound:
            assert verb is markers.remove

    def _set_limit(self) -> None:
        name, size, rate = self._chance.choice(LIMITS)
        if size is not None and name != "gpu":
            self._write(limits.put, name, size=self._chance.choice((size, size + 2, 1)), rate=rate)
