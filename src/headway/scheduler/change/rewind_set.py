"""The retry set: what a rewind starts afresh."""

import msgspec

from headway.storage import chains, dependencies, needs
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


class RetrySet(msgspec.Struct, frozen=True, kw_only=True):
    """The first jobs of the chains that start afresh, and the retries that become history."""

    members: list[JobRecord]
    retries: list[JobRecord]

    @property
    def everyone(self) -> list[JobRecord]:
        """Members and retries."""
        return [*self.members, *self.retries]


def find(tx: Transaction, root: JobRecord) -> RetrySet:
    """The root's chain, then every chain downstream of it in the order of submission."""
    (kinds,) = tx.ask(needs.KINDS_THAT_NAME_JOBS)
    links = chains.links(tx, dependencies.downstream(tx, root.number, kinds))
    members = [record for record in links if record.chain == record.number]
    members.sort(key=lambda record: (record.number != root.number, record.number))
    return RetrySet(
        members=members,
        retries=[record for record in links if record.chain != record.number],
    )
