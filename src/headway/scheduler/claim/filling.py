"""Params that take from the results of other jobs, filled in when their jobs start.

The results of all jobs of a claim are read together. A job whose params cannot be filled in ends as
FAILED within the claim, and is not tried again: a result does not change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headway.domain import errors, taken
from headway.domain.jobs import COMMAND, Policy
from headway.domain.taken import Taken
from headway.storage import chains
from headway.storage.chains import ChainResult
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.payloads import Payload
from headway.storage.records import Head

AT_ONCE = 250
"""So many results are read together: each may be as large as a result can be."""


class Taking(NamedTuple):
    """A job whose params take from results."""

    job: Head
    job_type: str
    payload: Payload


class Filled(NamedTuple):
    """The params of jobs, by number, and why those of others cannot be filled in."""

    bodies: Mapping[int, str]
    unfilled: Mapping[int, str]


NOTHING = Filled({}, {})


def fill(tx: Transaction, jobs: Iterable[Taking], largest: int) -> Filled:
    """Fill in the params of those of these jobs that take from results."""
    filling = {one.job.number: _Filling(one, largest) for one in jobs if one.payload.refers}
    if not filling:
        return NOTHING
    wanted: dict[int, list[_Filling]] = {}
    for one in filling.values():
        for chain in one.chains:
            wanted.setdefault(chain, []).append(one)
    for some in _slices(sorted(wanted)):
        results = chains.results(tx, some)
        for chain in some:
            for one in wanted[chain]:
                one.add(chain, results.get(chain))
    return Filled(
        {number: one.body() for number, one in filling.items() if one.problem is None},
        {number: one.problem for number, one in filling.items() if one.problem is not None},
    )


def _slices(chains: Sequence[int]) -> Iterator[Sequence[int]]:
    return (chains[first : first + AT_ONCE] for first in range(0, len(chains), AT_ONCE))


class _Filling:
    """The params of one job, and what was found for them so far."""

    def __init__(self, one: Taking, largest: int) -> None:
        self.problem: str | None = None
        self.chains: dict[int, list[Taken]] = {}
        self._is_command = one.job_type == COMMAND
        self._params = codec.load(one.payload.body)
        self._pieces: list[tuple[Taken, msgspec.Raw]] = []
        self._largest = largest
        self._size = len(one.payload.body)
        awaited = {
            after.job: after.number
            for after in one.job.terms.after
            if after.policy is Policy.SUCCESS
        }
        for piece in taken.find(self._params):
            if piece.job in awaited:
                self.chains.setdefault(awaited[piece.job], []).append(piece)
            else:
                self._fail(piece, f"the job does not come after job {piece.job}")

    def add(self, chain: int, found: ChainResult | None) -> None:
        """What a chain came to."""
        if self.problem is not None:
            return
        pieces = self.chains[chain]
        if found is None:
            self._fail(pieces[0], f"job {pieces[0].job} has no result any more")
            return
        result = None if found.result is None else _Parts(found.result)
        for piece in pieces:
            try:
                self._put(piece, found, result)
            except taken.NoSuchPart:
                self._fail(piece, f"the result of job {piece.job} has no {piece.path!r}")
                return

    def _put(self, piece: Taken, found: ChainResult, result: "_Parts | None") -> None:
        if found.is_skipped or (result is None and piece.path is None):
            text = "null"
        elif result is None:
            raise taken.NoSuchPart
        else:
            text = result.at(piece.path)
        if self._is_command:
            text = taken.as_word(piece, text)
        self._size += len(text.encode())
        if self._size > self._largest:
            self._fail(piece, str(errors.TooLarge("params", self._size, self._largest)))
        else:
            self._pieces.append((piece, msgspec.Raw(text)))

    def _fail(self, piece: Taken, problem: str) -> None:
        self.problem = self.problem or f"{piece.field}: {problem}"
        self._pieces.clear()

    def body(self) -> str:
        """The params with all results in their places."""
        return codec.dump(taken.put(self._params, self._pieces))


class _Parts:
    """A result, of which parts are taken."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: dict[str, str] = {}

    def at(self, path: str | None) -> str:
        """The part at a path, as JSON."""
        if path is None:
            return self._text
        if path not in self._parts:
            self._parts[path] = codec.dump(taken.part(codec.load(self._text), path))
        return self._parts[path]
