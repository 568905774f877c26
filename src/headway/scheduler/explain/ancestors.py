"""Jobs whose handlers submitted a job: one that waits for its child may hold what that needs."""

from collections.abc import Mapping, Sequence

import msgspec

from headway.domain.gates import Blocker
from headway.storage import chains, jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord

FARTHEST = 100
"""So many steps are gone from parent to parent."""


def of(tx: Transaction, record: JobRecord) -> dict[str, str]:
    """What a job's parent and the parents before it are to it, by their ids; retries count too."""
    found: dict[str, str] = {}
    word = "its parent"
    for _ in range(FARTHEST):
        parent_id = record.terms.parent_id
        numbers = jobs.find_numbers(tx, [parent_id]) if parent_id and parent_id not in found else {}
        if not numbers:
            break
        (record,) = jobs.read(tx, list(numbers.values()))
        ends = chains.ends(tx, [record.chain]).values()
        for job_id in (record.job_id, *(one.job_id for one in ends)):
            found[job_id] = word
        word = "an ancestor"
    return found


def marked(blockers: Sequence[Blocker], ancestors: Mapping[str, str]) -> tuple[Blocker, ...]:
    """The blockers, with those named that are ancestors of the job."""
    return tuple(
        msgspec.structs.replace(one, detail=", ".join(filter(None, (word, one.detail))))
        if one.kind == "job" and (word := ancestors.get(one.id))
        else one
        for one in blockers
    )
