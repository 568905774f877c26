"""Requests that were made before: their keys find the jobs that they made."""

from collections.abc import Mapping, Sequence

from headway.domain import errors
from headway.domain.requests.job_requests import JobRequest
from headway.domain.requests.request_hash import request_hash
from headway.scheduler import alone
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.references import Submitted
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction


def find(tx: Transaction, wanted: Sequence[JobRequest], turns: Turns) -> dict[int, Submitted]:
    """Requests that were made before, or whose unique key is in use."""
    if not any(one.idempotency_key or one.unique_key for one in wanted):
        return {}
    _refuse_twins(wanted, turns)
    alone.to_look_up_keys(tx)
    keys = [one.idempotency_key for one in wanted if one.idempotency_key is not None]
    unique = [one.unique_key for one in wanted if one.unique_key is not None]
    made, active = tx.ask(jobs.by_idempotency_key(keys), jobs.active_by_unique_key(unique))
    old: dict[int, tuple[int, bool]] = {}
    for place, request in turns.each(enumerate(enumerate(wanted))):
        key = request.idempotency_key
        if key is not None and key in made:
            if made[key].request_hash != request_hash(turns.asked[place]):
                raise errors.IdempotencyMismatch(key)
            old[place] = (made[key].number, False)
        elif request.unique_key in active:
            old[place] = (active[request.unique_key], True)
    return _submitted(tx, old)


def _refuse_twins(wanted: Sequence[JobRequest], turns: Turns) -> None:
    """Two jobs of one batch cannot have the same key."""
    for field in ("idempotency_key", "unique_key"):
        seen: set[str] = set()
        for request in turns.each(enumerate(wanted)):
            key = getattr(request, field)
            if key in seen:
                raise errors.InvalidRequest(field, "another job of the batch has the same key")
            if key is not None:
                seen.add(key)


def _submitted(tx: Transaction, old: Mapping[int, tuple[int, bool]]) -> dict[int, Submitted]:
    """Jobs from before by the place of their request; the flag says that a unique key found it."""
    records = {one.number: one for one in jobs.read(tx, {number for number, _ in old.values()})}
    return {
        place: Submitted(
            number=number,
            job_id=records[number].job_id,
            chain=records[number].chain,
            created=False,
            deduplicated=deduplicated,
        )
        for place, (number, deduplicated) in old.items()
    }
