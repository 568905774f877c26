"""Pauses that grow while something does not work."""

import random

FIRST_S = 0.1
LONGEST_S = 15.0


class Backoff:
    """Each pause is about twice as long as the one before it, with jitter."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._next_s = FIRST_S

    def next_s(self) -> float:
        """How long to pause this time."""
        pause_s = self._next_s * self._chance.uniform(0.5, 1.0)
        self._next_s = min(self._next_s * 2, LONGEST_S)
        return pause_s

    def reset(self) -> None:
        """It works again."""
        self._next_s = FIRST_S
