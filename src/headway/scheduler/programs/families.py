"""Programs and their children: who waits for whom, and whose end is in a journal already."""

from collections.abc import Collection, Sequence

from headway.domain import errors, states
from headway.domain.requests import after_requests
from headway.domain.requests.job_requests import JobRequest
from headway.domain.taken import Taken
from headway.domain.values.plain_json import Checked
from headway.scheduler.submit import named_jobs
from headway.storage import chains, dependencies, jobs, steps
from headway.storage.engine.transaction import Transaction
from headway.storage.records import JobRecord


def wait_again(tx: Transaction, children: Collection[int]) -> None:
    """Programs that wait wait for these chains too, which had ended and go on."""
    parents = [one for one in steps.waiting_parents(tx, children) if one.met]
    for one in parents:
        dependencies.reopen_one(tx, one.number, one.chain)
    steps.wait_again(tx, parents)


def refuse_taken(tx: Transaction, again: Sequence[JobRecord]) -> None:
    """A program that goes on keeps the results that it was given: its children stay as they are."""
    families = {one.parent for one in again if one.parent} - {one.chain for one in again}
    parents = {one.number: one for one in _active(tx, families) if one.journal}
    taken = steps.children_in_journals(tx, parents)
    for one in again:
        for number, children in taken.items():
            if one.chain in children:
                raise errors.Conflict(
                    f"job {one.job_id} is a child of job {parents[number].job_id}, which goes on"
                    " with its result; rewind that one, or wait for its end"
                )


def refuse_unfinished(tx: Transaction, parent: JobRecord) -> None:
    """A program cannot go on with the result of a child that is tried again at the moment."""
    taken = steps.children_in_journals(tx, [parent.number]) if parent.journal else {}
    links = chains.deciding_links(tx, taken.get(parent.number, set()))
    going_on = [one for one in links.values() if one.status in states.ACTIVE]
    if going_on:
        raise errors.Conflict(
            f"job {parent.job_id} goes on with the result of its child {going_on[0].job_id},"
            f" which is {going_on[0].status}; wait for its end"
        )


def refuse_cycle(tx: Transaction, parent: JobRecord, wanted: Sequence[JobRequest]) -> None:
    """A key may find a job that waits for this program, or a child may come after the program."""
    before = _earlier(tx, wanted)
    seen: set[int] = set()
    while before and parent.chain not in seen:
        seen |= before
        waiting = [one.number for one in _active(tx, before)]
        before = {one.chain for one in dependencies.of(tx, waiting) if not one.met} - seen
    if parent.chain in seen:
        raise errors.InvalidRequest(
            "children", f"job {parent.job_id} would wait for a job that waits for it"
        )


def _earlier(tx: Transaction, wanted: Sequence[JobRequest]) -> set[int]:
    """The chains from before that these requests find by their keys, or come after."""
    keys = [one.idempotency_key for one in wanted if one.idempotency_key is not None]
    unique = [one.unique_key for one in wanted if one.unique_key is not None]
    targets = [target for one in wanted for target in after_requests.targets(one, _taken(one))]
    names = [one.name for one in targets if not one.name.startswith(after_requests.REF)]
    if not (keys or unique or names):
        return set()
    made, active, named = tx.ask(
        jobs.by_idempotency_key(keys),
        jobs.active_by_unique_key(unique),
        named_jobs.named(names),
    )
    found = {one.number for one in made.values()} | set(active.values())
    return {one.chain for one in jobs.read(tx, found)} | {one.chain for one in named}


def _taken(request: JobRequest) -> Sequence[Taken]:
    """The results that its params take."""
    return request.params.taken if isinstance(request.params, Checked) else ()


def _active(tx: Transaction, found: Collection[int]) -> list[JobRecord]:
    """The last links of these chains that have not ended."""
    links = chains.ends(tx, found).values() if found else ()
    return jobs.read(tx, [one.number for one in links if one.status in states.ACTIVE])
