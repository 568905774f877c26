"""Plays of servers, workers and clients on a real store keep every promise; any replays."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulation import runner, shrink
from tests.simulation.ledger import Broken, Execution, Ledger
from tests.simulation.play import STEPS, Played
from tests.simulation.runner import Stage

REPOSITORY = Path(__file__).parents[2]
SLICES = 50
SEEDS_PER_SLICE = 200


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A stage on SQLite in memory."""
    with runner.stage() as made:
        yield made


def told(played: Played) -> str:
    """What a person needs who sees a play fail."""
    return (
        f"{played.trace}\n\n{played.failure}\n\nscript/simulate --seed {played.seed} shows it again"
    )


@pytest.mark.parametrize("part", range(SLICES))
def test_every_play_keeps_every_promise(stage: Stage, part: int) -> None:
    for seed in range(part * SEEDS_PER_SLICE, (part + 1) * SEEDS_PER_SLICE):
        played = stage.play(seed)
        assert played.failure is None, told(played)


def test_a_seed_gives_the_same_play_twice(stage: Stage) -> None:
    for seed in range(5):
        assert stage.play(seed).trace == stage.play(seed).trace


def test_a_seed_gives_the_same_play_in_another_process(stage: Stage) -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seed", "7"]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    shown = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
    )
    assert shown.stdout.rstrip("\n") == stage.play(7).trace


def test_leaving_a_step_out_leaves_the_others_as_they_are(stage: Stage) -> None:
    whole = stage.play(3).trace.splitlines()
    half = stage.play(3, range(STEPS // 2)).trace.splitlines()
    assert half[:-1] == whole[: len(half) - 1]


def test_a_failure_is_shrunk_to_the_steps_that_matter(stage: Stage) -> None:
    class Fails(Stage):
        """A stage on which every play fails that has both these steps."""

        def __init__(self) -> None:
            pass

        def play(self, seed: int, only: object = None) -> Played:
            """Fail, or not."""
            steps = set(only) if isinstance(only, list) else set(range(STEPS))
            failure = "job 1 is gone" if {7, 31} <= steps else None
            return Played(seed, len(steps), str(sorted(steps)), failure)

    stage = Fails()
    assert shrink.shrink(stage, stage.play(1)).trace == "[7, 31]"


def test_two_executions_of_one_chain_are_noticed() -> None:
    ledger = Ledger()
    ledger.begin(Execution("a", number=1, chain=1, worker_id="w1", fence=30))
    with pytest.raises(Broken, match="at the same time"):
        ledger.begin(Execution("b", number=2, chain=1, worker_id="w2", fence=30))


@pytest.mark.parametrize("part", range(4))
def test_plays_keep_every_promise_on_postgresql(empty_postgres: str, part: int) -> None:
    stage = runner.on_postgres(empty_postgres)
    try:
        for seed in range(part * 5, (part + 1) * 5):
            played = stage.play(seed)
            assert played.failure is None, told(played)
    finally:
        stage.close()
