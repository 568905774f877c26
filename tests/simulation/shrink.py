"""Shrinking: leave steps out of a play for as long as it still fails in the same way."""

import re

from tests.simulation.play import STEPS, Played
from tests.simulation.runner import Stage


def shrink(stage: Stage, failed: Played) -> Played:
    """The shortest play found that fails as this one did."""
    steps, best = list(range(STEPS)), failed
    size = len(steps) // 2
    while size:
        for start in range(len(steps) - size, -1, -size):
            fewer = steps[:start] + steps[start + size :]
            played = stage.play(failed.seed, fewer)
            if _kind(played.failure) == _kind(failed.failure):
                steps, best = fewer, played
        size //= 2
    return best


def _kind(failure: str | None) -> str | None:
    """What went wrong, whichever job it hit."""
    if failure is None:
        return None
    return re.sub(r"\d+", "N", failure.strip().splitlines()[-1])
