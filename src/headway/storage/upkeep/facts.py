"""Small things that the store remembers by name."""

from headway.storage.engine.transaction import Transaction


def read(tx: Transaction, name: str) -> str | None:
    """What is remembered under a name."""
    row = tx.row("fact", name=name)
    return row["value"] if row else None


def put(tx: Transaction, name: str, value: str) -> None:
    """Remember this, whatever was remembered before."""
    tx.do("put_fact", name=name, value=value)
