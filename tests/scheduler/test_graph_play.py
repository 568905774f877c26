"""Random play over small graphs: what is said of each job is what the rules say, at every step."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.helpers import MovableClock, claim, finish, newest_numbers, submit
from tests.scheduler.asking import keep_time, register, rewound, show, why

from headway.domain import errors, states
from headway.domain.answers import GateState
from headway.domain.gates import after
from headway.domain.jobs import Job, Mode, Policy
from headway.domain.runs import RunStatus
from headway.domain.values import moments
from headway.protocol.work_values import Started
from headway.scheduler.change import approvals, cancel
from headway.scheduler.manage import markers
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import verify
from headway.storage import job_views

SEEDS = (1, 7, 18, 135)
"""Each of these once found something."""

MARKERS = ("custom:m:a", "custom:m:b")
OUTCOMES = (*[RunStatus.COMPLETED] * 3, *[RunStatus.FAILED] * 2, RunStatus.SKIPPED)
BLOCKED_BY_SOMEBODY = (states.WAITING_ON_DEPS, states.WAITING_ON_LOCKS)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_said_of_each_job_is_what_the_rules_say(
    scheduler: Scheduler, clock: MovableClock, seed: int
) -> None:
    play = Play(scheduler, clock, random.Random(seed))
    for _ in range(40):
        play.step()
        play.check()
    play.come_to_rest()
    play.check()
    assert verify.verify(scheduler) == []


class Play:
    """Does what people and workers do, in any order."""

    def __init__(self, scheduler: Scheduler, clock: MovableClock, chance: random.Random) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._chance = chance
        self._running: list[Started] = []
        register(scheduler)

    def step(self) -> None:
        """One thing happens."""
        happens: list[Callable[[], None]] = [
            *[self._submit] * 5,
            *[self._start] * 5,
            *[self._finish] * 4,
            *[self._rewind] * 2,
            self._approve,
            self._cancel,
            self._mark,
            self._wait,
        ]
        self._chance.choice(happens)()

    def come_to_rest(self) -> None:
        """Everybody agrees and everything succeeds, until nothing moves any more."""
        moved = True
        while moved:
            self._clock.move(20)
            keep_time(self._scheduler)
            register(self._scheduler)
            pending = self._those(states.WAITING_ON_APPROVAL)
            for one in pending:
                self._write(approvals.approve, one.number, actor="ann")
            self._running += claim(self._scheduler, 10)
            moved = bool(pending or self._running)
            while self._running:
                finish(self._scheduler, self._running.pop())

    def check(self) -> None:
        """Each job that waits says why, and so does `why`, by the rules as they are written."""
        rules = Rules(self._scheduler, self._jobs())
        for one in self._those(*states.WAITING):
            shown, answer = show(self._scheduler, one.number), why(self._scheduler, one.number)
            closed = [row for row in answer.gates if row.state is GateState.CLOSED]
            said = shown.wait_reason.detail if shown.wait_reason else None
            assert said == rules.reason(one), one.number
            assert [row.detail for row in closed][:1] == ([said] if said else []), one.number
            assert answer.status is shown.status
            if shown.status in BLOCKED_BY_SOMEBODY:
                assert any(row.blockers for row in closed), one.number

    def _jobs(self) -> list[Job]:
        numbers = self._scheduler.store.read(lambda tx: newest_numbers(tx))
        return self._scheduler.store.read(lambda tx: job_views.read(tx, numbers))

    def _those(self, *statuses: states.JobStatus) -> list[Job]:
        return [one for one in self._jobs() if one.status in statuses]

    def _write(self, verb: Callable[..., Any], *words: Any, **named: Any) -> None:
        self._scheduler.store.write(lambda tx: verb(self._scheduler, tx, *words, **named))

    def _any(self, *statuses: states.JobStatus) -> list[int]:
        """The number of one such job, if there is any."""
        found = [one.number for one in self._those(*statuses)]
        return [self._chance.choice(found)] if found else []

    def _submit(self) -> None:
        known = [one.number for one in self._jobs()]
        some = self._chance.sample(known, min(len(known), self._chance.choice((0, 1, 1, 2))))
        needs = self._chance.choice(((), (), *((name,) for name in MARKERS), MARKERS))
        links = [f"job:{number}" for number in some[:1] if self._chance.random() < 0.3]
        made = self._chance.choice(((), (), *((name,) for name in MARKERS)))
        lock = {"key": "x", "mode": self._chance.choice(list(Mode))}
        submit(
            self._scheduler,
            after=[{"job": one, "policy": self._chance.choice(list(Policy))} for one in some],
            needs=[*needs, *links],
            produces=[name for name in made if name not in needs],
            missing_producer=self._chance.choice(("block", "wait")),
            locks=[lock] if self._chance.random() < 0.3 else [],
            approval=self._chance.random() < 0.1,
            delay_s=self._chance.choice((None, None, None, 15)),
            retry_policy={"max_attempts": self._chance.choice((0, 1))},
        )

    def _start(self) -> None:
        self._running += claim(self._scheduler)

    def _finish(self) -> None:
        if self._running:
            one = self._running.pop(self._chance.randrange(len(self._running)))
            finish(self._scheduler, one, self._chance.choice(OUTCOMES))

    def _rewind(self) -> None:
        for number in self._any(*states.TERMINAL):
            try:
                rewound(self._scheduler, number, force=True)
            except errors.RewindRefused:
                assert self._running

    def _approve(self) -> None:
        for number in self._any(states.WAITING_ON_APPROVAL):
            verb = self._chance.choice((approvals.approve, approvals.reject))
            self._write(verb, number, actor="ann")

    def _cancel(self) -> None:
        for number in self._any(*states.ACTIVE):
            self._write(cancel.cancel, number)

    def _mark(self) -> None:
        _, type_, key = self._chance.choice(MARKERS).split(":")
        verb = self._chance.choice((markers.put, markers.remove))
        try:
            self._write(verb, type_, key)
        except errors.NotFound:
            assert verb is markers.remove

    def _wait(self) -> None:
        self._clock.move(self._chance.choice((1, 11)))
        keep_time(self._scheduler)


class Rules:
    """Why a job waits, from nothing but how all jobs stand and which markers are there."""

    def __init__(self, scheduler: Scheduler, everybody: list[Job]) -> None:
        self._now = scheduler.clock.now()
        self._jobs = {one.job_id: one for one in everybody}
        found = scheduler.store.read(lambda tx: markers.after(tx, "", 100))
        self._markers = {one.artifact for one in found}

    def reason(self, job: Job) -> str | None:
        """What the job waits for first."""
        if job.scheduled_for is not None and job.scheduled_for > self._now:
            return f"scheduled for {moments.show(job.scheduled_for)}"
        return (
            self._after(job)
            or next(filter(None, (self._need(job, name) for name in job.needs)), None)
            or ("awaiting human approval" if job.approval == "PENDING" else None)
            or ("waiting on locks" if self._is_locked(job) else None)
        )

    def _after(self, job: Job) -> str | None:
        if job.attempt:  # what was met when it was first tried stays met
            return None
        for one in sorted(job.after, key=lambda one: one.number):
            status = self._end(one.job).status
            if status in states.ACTIVE:
                return f"waiting on job {one.job}"
            assert after.satisfies(status, one.policy), "it is blocked"
        return None

    def _need(self, job: Job, name: str) -> str | None:
        kind, _, key = name.partition(":")
        makers = {one.chain_id for one in self._jobs.values() if name in one.produces}
        makers |= {self._jobs[key].chain_id} if kind == "job" else set()
        ends = {self._end(one).status for one in makers - {job.chain_id}}
        if name in self._markers or (kind == "job" and states.SUCCEEDED in ends):
            return None
        if ends & states.ACTIVE:
            return f"waiting on {name}"
        assert (ends, job.missing_producer) == (set(), "wait"), "it is blocked"
        return f"awaiting producer for {name}"

    def _end(self, job_id: str) -> Job:
        """The last link of a chain; those of earlier generations are history."""
        first = self._jobs[self._jobs[job_id].chain_id]
        chain = [one for one in self._jobs.values() if one.chain_id == first.job_id]
        return max(
            (one for one in chain if one.generation == first.generation),
            key=lambda one: one.number,
        )

    def _is_locked(self, job: Job) -> bool:
        """There is one lock and one lane: who is in the way holds it, or stands ahead for it."""
        if not job.locks:
            return False
        mode = job.locks[0].mode
        held = self._modes(lambda one: one.status is states.RUNNING)
        ahead = self._modes(lambda one: _wants(one) and _place(one) < _place(job))
        return (
            any(Mode.EXCLUSIVE in (mode, other) for other in held)
            or (mode is Mode.SHARED and bool(held) and Mode.EXCLUSIVE in ahead)
            or (job.status is states.WAITING_ON_LOCKS and bool(ahead))
        )

    def _modes(self, wanted: Callable[[Job], bool]) -> list[Mode]:
        return [lock.mode for one in self._jobs.values() if wanted(one) for lock in one.locks]


def _wants(job: Job) -> bool:
    ready = job.status is states.QUEUED and job.wait_reason is None
    return ready or job.status is states.WAITING_ON_LOCKS


def _place(job: Job) -> tuple[int, int]:
    return (job.position, job.number)
