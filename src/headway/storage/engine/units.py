"""The pieces of work of one transaction: what is done together, and what each caller gets of it."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from headway.storage.engine.transaction import Manner, Transaction

Work = Callable[[Transaction], Any]
Waiting = tuple["Work | Piece", "Future[Any]", Manner]


@dataclass(frozen=True)
class Piece:
    """Work that is done for many callers at once: their items go to one function together.

    Where that fails, it is done for each item alone, so that one caller's bad item is its own.
    """

    together: Callable[[Transaction, Sequence[Any]], Sequence[Any]]
    item: Any

    def __call__(self, tx: Transaction) -> Any:
        """Do it for this item alone."""
        return self.together(tx, [self.item])[0]


@dataclass(frozen=True)
class Refused:
    error: Exception


@dataclass(frozen=True)
class Again:
    error: Exception


@dataclass(frozen=True)
class RefusedTogether:
    """One item of the batch was refused: each is to be done by itself."""


@dataclass(frozen=True)
class Unit:
    """Work that is done in one go, and the places in the batch of those it is done for."""

    places: list[int]
    work: Work
    shared: bool

    def spread(self, answer: Any) -> dict[int, Any]:
        """The answer of each."""
        if not self.shared:
            return {self.places[0]: answer}
        if isinstance(answer, Refused):
            return dict.fromkeys(self.places, RefusedTogether())
        if isinstance(answer, Again):
            return dict.fromkeys(self.places, answer)
        return dict(zip(self.places, answer, strict=True))


def split(batch: list[Waiting], *, apart: bool) -> list[Unit]:
    """What is done in one go: what many ask of the same function, and each other piece of work."""
    shared: dict[Any, tuple[list[int], list[Any]]] = {}
    others = []
    for place, (work, _, _) in enumerate(batch):
        if isinstance(work, Piece) and not apart:
            places, items = shared.setdefault(work.together, ([], []))
            places.append(place)
            items.append(work.item)
        else:
            others.append(Unit([place], work, shared=False))
    return [
        *(
            Unit(places, partial(_do_together, together, items), shared=True)
            for together, (places, items) in shared.items()
        ),
        *others,
    ]


def _do_together(
    together: Callable[[Transaction, Sequence[Any]], Sequence[Any]],
    items: Sequence[Any],
    tx: Transaction,
) -> Sequence[Any]:
    return together(tx, items)
