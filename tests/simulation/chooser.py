"""The seeded chooser: every decision of a play is drawn here, so that a seed replays it."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Chooser:
    """Draws for one step. Each step has its own source: one left out does not change the others."""

    def __init__(self, seed: int, step: int) -> None:
        self._source = random.Random(seed * 1_000_003 + step)

    def one(self, options: Sequence[T]) -> T:
        """One of these."""
        return options[int(self._source.random() * len(options))]

    def some(self, options: Sequence[T], most: int) -> list[T]:
        """Up to so many different ones of these, perhaps none."""
        count = min(len(options), self.number(0, most))
        return self._source.sample(list(options), count)

    def weighted(self, options: Mapping[T, float]) -> T:
        """One of these, each as often as its weight says."""
        return self._source.choices(list(options), list(options.values()))[0]

    def chance(self, probability: float) -> bool:
        """True this often."""
        return self._source.random() < probability

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return self._source.randint(least, most)
