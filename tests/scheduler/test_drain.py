"""A drained worker finishes what it holds and takes nothing more; one that left keeps its name."""

import pytest
from tests.helpers import WORKER, MovableClock, claim, finish, submit
from tests.scheduler.asking import closed_gate, register, why

from headway.domain import errors
from headway.scheduler.claim import claims, registration
from headway.scheduler.explain import status
from headway.scheduler.scheduler import Scheduler


def drain(scheduler: Scheduler, *, drained: bool = True) -> None:
    scheduler.store.write(lambda tx: claims.drain(scheduler, tx, WORKER, drained=drained))


def known(scheduler: Scheduler) -> list[str]:
    found = scheduler.store.read(lambda tx: status.known_workers(scheduler, tx))
    return [one.worker_id for one in found]


def test_a_drained_worker_takes_nothing_more_until_that_is_undone(scheduler: Scheduler) -> None:
    register(scheduler, WORKER)
    submit(scheduler)
    running = claim(scheduler)
    submit(scheduler)
    drain(scheduler)
    assert claim(scheduler) == []
    finish(scheduler, running)
    drain(scheduler, drained=False)
    assert len(claim(scheduler)) == 1


def test_why_names_a_worker_that_is_draining(scheduler: Scheduler) -> None:
    register(scheduler, WORKER)
    submit(scheduler)
    drain(scheduler)
    answer = why(scheduler, 1)
    (blocker,) = closed_gate(answer).blockers
    assert (blocker.id, blocker.status) == (WORKER, "draining")
    assert blocker.since == scheduler.clock.now()
    assert answer.startable
    drain(scheduler, drained=False)
    assert all(gate.state == "open" for gate in why(scheduler, 1).gates)


def test_a_new_process_of_the_same_name_is_not_drained(scheduler: Scheduler) -> None:
    register(scheduler, WORKER)
    drain(scheduler)
    register(scheduler, WORKER)
    submit(scheduler)
    assert claim(scheduler) == []
    scheduler.store.write(lambda tx: claims.leave(scheduler, tx, WORKER))
    register(scheduler, WORKER)
    assert len(claim(scheduler)) == 1


def test_only_a_known_worker_is_drained(scheduler: Scheduler) -> None:
    with pytest.raises(errors.NotFound):
        drain(scheduler)
    register(scheduler, WORKER)
    scheduler.store.write(lambda tx: claims.leave(scheduler, tx, WORKER))
    with pytest.raises(errors.NotFound):
        drain(scheduler)


def test_a_worker_that_left_is_not_listed_and_keeps_its_owner(scheduler: Scheduler) -> None:
    register(scheduler, WORKER)
    scheduler.store.write(lambda tx: claims.leave(scheduler, tx, WORKER))
    assert known(scheduler) == []
    owner = scheduler.store.read(lambda tx: tx.row("owner_of_worker", worker_id=WORKER))
    assert owner is not None
    scheduler.store.write(lambda tx: claims.leave(scheduler, tx, WORKER, forget=True))
    assert scheduler.store.read(lambda tx: tx.row("owner_of_worker", worker_id=WORKER)) is None


def test_a_token_has_only_so_many_workers_that_are_there(
    scheduler: Scheduler, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "MOST_OF_ONE_TOKEN", 2)

    def ask(token: str = "a") -> None:
        scheduler.store.write(lambda tx: registration.check_room(scheduler, tx, token))

    ask()
    for name in ("one", "two"):
        register(scheduler, name, token_id="a")
    with pytest.raises(errors.TooManyWorkers):
        ask()
    ask("another")
    scheduler.store.write(lambda tx: claims.leave(scheduler, tx, "one"))
    ask()
    register(scheduler, "three", token_id="a")
    clock.move(1000)
    ask()  # all of them are silent
    assert known(scheduler) == []
