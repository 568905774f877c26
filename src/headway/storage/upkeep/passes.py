"""The passes over all that is old: which server is at work, and what came of the last one."""

import msgspec

from headway.domain.answers import Cleaned
from headway.storage.engine import codec
from headway.storage.engine.transaction import Transaction
from headway.storage.upkeep import facts

NAME = "retention"
"""The fact that keeps it."""


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept about the passes of all servers. Times are in milliseconds."""

    holder: str | None = None
    held_until: int = 0
    last: Cleaned | None = None


def read(tx: Transaction) -> Pass:
    """How things stand."""
    text = facts.read(tx, NAME)
    return msgspec.json.decode(text, type=Pass) if text else Pass()


def write(tx: Transaction, known: Pass) -> None:
    """How things stand from now on."""
    facts.put(tx, NAME, codec.dump(known))
