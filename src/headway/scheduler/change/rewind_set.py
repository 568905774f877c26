"""The retry set: what a rewind starts afresh."""

import msgspec

from headway.domain import artifacts
from headway.storage import records
from headway.storage.records import JobRecord
from headway.storage.transaction import Transaction


class RetrySet(msgspec.Struct, frozen=True, kw_only=True):
    """The first jobs of the chains that start afresh, and the retries that become history."""

    members: list[JobRecord]
    retries: list[JobRecord]

    @property
    def everyone(self) -> list[JobRecord]:
        """Members and retries."""
        return [*self.members, *self.retries]

    @property
    def numbers(self) -> str:
        """The members, as the parameter of a query."""
        return records.listed(record.number for record in self.members)


def find(tx: Transaction, root: JobRecord) -> RetrySet:
    """The root's chain, then every chain downstream of it in the order of submission."""
    naming = tx.rows("needs_that_name_jobs", kinds=records.listed(artifacts.NAMING_JOBS))
    kinds = records.listed(row["kind"] for row in naming)
    chains = [row["chain"] for row in tx.rows("downstream_chains", chain=root.number, kinds=kinds)]
    links = tx.values(JobRecord, "chain_members", chains=records.listed(chains))
    members = [record for record in links if record.chain == record.number]
    members.sort(key=lambda record: (record.number != root.number, record.number))
    return RetrySet(
        members=members,
        retries=[record for record in links if record.chain != record.number],
    )
