"""Randomness, handed in: a `random.Random`, or anything like it."""

from typing import Protocol


class Chance(Protocol):
    """What the domain asks of randomness."""

    def getrandbits(self, k: int, /) -> int:
        """So many random bits."""

    def uniform(self, a: float, b: float) -> float:
        """A number between the two."""
