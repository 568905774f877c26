"""Jobs as they are kept: insert, read, change. Nothing is decided here."""

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headway.domain import errors, retries, states
from headway.domain.jobs import POSITION_GAP, Approval, Job, Lane, Progress, RetryState, WaitReason
from headway.domain.states import JobStatus
from headway.domain.values import moments
from headway.storage import records
from headway.storage.engine import codec
from headway.storage.engine.transaction import Row, Transaction
from headway.storage.records import Head, JobRecord


class Allocation(msgspec.Struct, frozen=True):
    """The first number, position and payload id of those that were taken."""

    number: int
    position: int
    payload_id: int


def allocate(
    tx: Transaction, *, jobs: int = 0, positions: int = 0, payloads: int = 0
) -> Allocation:
    """Take numbers, places at the tail and payload ids, all at once."""
    rows = tx.rows("allocate", jobs=jobs, positions=positions * POSITION_GAP, payloads=payloads)
    last = {row["name"]: row["value"] for row in rows}
    return Allocation(
        last["job"] - jobs + 1,
        last["position"] - (positions - 1) * POSITION_GAP,
        last["payload"] - payloads + 1,
    )


class LaneIds:
    """The ids of lanes, looked up once in a transaction; a lane that is new is made."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._known: dict[tuple[Any, ...], int] = {}
        self._lanes: dict[int, Lane] = {}

    def find(self, lane: Lane) -> int:
        """The id of a lane."""
        parts = (lane.queue, lane.job_type, lane.cost_units, lane.requires, *lane.limits.items())
        if parts not in self._known:
            self._known[parts] = self._look_up(lane)
            self._lanes[self._known[parts]] = lane
        return self._known[parts]

    def lane(self, lane_id: int) -> Lane:
        """The lane with an id that was found here."""
        return self._lanes[lane_id]

    def _look_up(self, lane: Lane) -> int:
        key = codec.dump([lane.queue, lane.job_type, lane.cost_units, lane.requires, lane.limits])
        row = self._tx.row("lane_by_key", key=key)
        return row["lane_id"] if row else self._insert(key, lane)

    def _insert(self, key: str, lane: Lane) -> int:
        self._tx.alone()
        return int(
            self._tx.value(
                "insert_lane",
                key=key,
                queue=lane.queue,
                job_type=lane.job_type,
                cost_units=lane.cost_units,
                requires=codec.dump(lane.requires),
                limits=codec.dump(lane.limits),
            )
        )


def lanes(tx: Transaction, lane_ids: Collection[int] | None = None) -> dict[int, Lane]:
    """Lanes by id."""
    rows = (
        tx.rows("lanes")
        if lane_ids is None
        else tx.rows("lanes_by_id", lane_ids=records.listed(lane_ids))
    )
    return {row["lane_id"]: records.lane(row) for row in rows}


def find_number(tx: Transaction, reference: str | int) -> int:
    """The number of a job that is named by its number or its id."""
    text = str(reference).strip()
    if text.isascii() and text.isdecimal():
        found = _existing(tx, [int(text)]) if len(text) < 19 else []
        if found:
            return found[0]
    elif rows := tx.rows("job_numbers_by_id", job_ids=records.listed([text.lower()])):
        return int(rows[0]["number"])
    raise errors.NotFound("job", reference)


def find_numbers(tx: Transaction, job_ids: Collection[str]) -> dict[str, int]:
    """The numbers of those of these jobs that exist."""
    rows = tx.rows("job_numbers_by_id", job_ids=records.listed(job_ids))
    return {row["job_id"]: row["number"] for row in rows}


def active_by_unique_key(tx: Transaction, keys: Collection[str]) -> dict[str, int]:
    """The active jobs that have these unique keys, by key."""
    rows = tx.rows("active_jobs_by_unique_key", keys=records.listed(keys)) if keys else ()
    return {row["unique_key"]: row["number"] for row in rows}


class Keyed(NamedTuple):
    """A job that was submitted with an idempotency key, and what was asked for."""

    number: int
    request_hash: str


def by_idempotency_key(tx: Transaction, keys: Collection[str]) -> dict[str, Keyed]:
    """The jobs that were submitted with these keys, by key."""
    rows = tx.rows("jobs_by_idempotency_key", keys=records.listed(keys)) if keys else ()
    return {row["idempotency_key"]: Keyed(row["number"], row["request_hash"]) for row in rows}


def _existing(tx: Transaction, numbers: Collection[int]) -> list[int]:
    return [row["number"] for row in tx.rows("job_records", numbers=records.listed(numbers))]


def read(tx: Transaction, numbers: Collection[int]) -> list[JobRecord]:
    """Some jobs, by number."""
    if not numbers:
        return []
    return tx.values(JobRecord, "job_records", numbers=records.listed(numbers))


def has_succeeded_since(tx: Transaction, job: Head, since: int) -> bool:
    """Whether another job with the same key succeeded at or after this moment."""
    return bool(tx.rows("succeeded_since", dedup_key=job.dedup_key, since=since, number=job.number))


def take_from_leases(
    tx: Transaction, lease_ids: Collection[str], worker_id: str | None = None
) -> list[tuple[JobRecord, str | None]]:
    """The jobs that run under these leases, which are over from here on, and how far each came.

    A lease that was lost has no job. One of a damaged store may have none either: it ends alone.
    """
    listed = records.listed(lease_ids)
    tx.expect("jobs_of_runs", run_ids=listed)
    over = tx.rows("end_leases", lease_ids=listed, worker_id=worker_id)
    if not over:
        return []
    progress = {row["job_number"]: row["progress"] for row in over}
    found = {one.number: one for one in tx.values(JobRecord, "jobs_of_runs", run_ids=listed)}
    if without_run := progress.keys() - found.keys():  # only a damaged store has them
        found.update((one.number, one) for one in read(tx, without_run))
    return [(found[number], progress[number]) for number in sorted(progress) if number in found]


def read_one(tx: Transaction, reference: str | int) -> JobRecord:
    """One job by number or id."""
    return read(tx, [find_number(tx, reference)])[0]


def views(tx: Transaction, numbers: Sequence[int], largest: int | None = None) -> list[Job]:
    """Some jobs as they are shown, in the order asked for; params that are larger are left out."""
    if not numbers:
        return []
    rows = tx.rows("job_views", numbers=records.listed(numbers), largest=largest)
    found = {row["number"]: row for row in rows}
    waiting = [
        row["number"] for row in rows if row["open_deps"] and row["status"] == "WAITING_ON_DEPS"
    ]
    on = {
        row["job_number"]: row["chain"]
        for row in (
            tx.rows("first_open_dependency", numbers=records.listed(waiting)) if waiting else ()
        )
    }
    return [_view(found[number], on.get(number)) for number in numbers if number in found]


def view_of_new(row: Mapping[str, Any], lane: Lane, params: str) -> Job:
    """A new job as it is shown, from the row that was written."""
    return _view(
        {
            **_NOT_YET,
            **row,
            "queue": lane.queue,
            "job_type": lane.job_type,
            "cost_units": lane.cost_units,
            "requires": codec.dump(lane.requires) if lane.requires else "[]",
            "limits": codec.dump(lane.limits) if lane.limits else "{}",
            "params": params,
        },
        None,
    )


_NOT_YET: dict[str, Any] = dict.fromkeys(
    [
        *(
            "chain_id",
            "retry_of_id",
            "retried_by_id",
            "error",
            "live_progress",
            "params_size",
            "cancel",
            "worker_id",
            "claim_expires_at",
        ),
        *("run_id", "progress", "started_at", "finished_at", "exit_code"),
    ]
) | {"retry_state": RetryState.NONE.value}
"""The columns of a view that have no value when a job begins."""


def _view(row: Row, waits_on: int | None) -> Job:
    terms = codec.load_terms(row["terms"])
    shown = msgspec.structs.asdict(terms)
    shown["approval"] = Approval(row["approval"]) if row["approval"] else None
    reason = _reason(row, next((one.job for one in terms.after if one.number == waits_on), None))
    progress = row["live_progress"] or row["progress"]
    retry_state = RetryState(row["retry_state"])
    return Job(
        job_id=row["job_id"],
        number=row["number"],
        job_type=row["job_type"],
        queue=row["queue"],
        params={} if row["params"] in (None, "{}") else codec.load(row["params"]),
        omitted=records.omitted(params=row["params_size"]),
        priority=row["priority"],
        position=row["position"],
        status=JobStatus(row["status"]),
        wait_reason=reason,
        waited_on=records.words(row["waited_on"]),
        scheduled_for=moments.maybe_from_millis(row["scheduled_for"]),
        template_id=row["template_id"],
        schedule_id=row["schedule_id"],
        fire_time=moments.maybe_from_millis(row["fire_time"]),
        group_id=row["group_id"],
        retry_of=row["retry_of_id"],
        retried_by=row["retried_by_id"],
        chain_id=row["chain_id"] or row["job_id"],
        attempt=row["attempt"],
        generation=row["generation"],
        retry_state=retry_state,
        permanently_failed=retry_state is RetryState.EXHAUSTED,
        cost_units=row["cost_units"],
        requires=records.words(row["requires"]),
        limits={} if row["limits"] == "{}" else codec.load(row["limits"]),
        idempotency_key=row["idempotency_key"],
        unique_key=row["unique_key"],
        dedup_key=row["dedup_key"],
        created_at=moments.from_millis(row["created_at"]),
        queued_at=moments.maybe_from_millis(row["queued_at"]),
        started_at=moments.maybe_from_millis(row["started_at"]),
        finished_at=moments.maybe_from_millis(row["finished_at"]),
        claim_expires_at=moments.maybe_from_millis(row["claim_expires_at"]),
        worker_id=row["worker_id"],
        run_id=row["run_id"],
        exit_code=row["exit_code"],
        error=row["error"].strip().partition("\n")[0] if row["error"] else None,
        cancel_requested=row["cancel"] is not None,
        progress=msgspec.json.decode(progress, type=Progress) if progress else None,
        **shown,
    )


def _reason(row: Row, waits_on: str | None) -> WaitReason | None:
    if row["wait_kind"] is None:
        return None
    detail = f"waiting on job {waits_on}" if waits_on else row["wait_detail"]
    return WaitReason(kind=row["wait_kind"], detail=detail)


def insert(
    tx: Transaction, rows: Iterable[Mapping[str, Any]], payloads: Iterable[Mapping[str, Any]]
) -> None:
    """New jobs with their params."""
    tx.many("insert_payload", payloads)
    plain, others = [], []
    for row in rows:
        if _special(row) == _NOTHING_SPECIAL:
            plain.append(_plain(row))
        else:
            others.append(row)
    if plain:
        tx.put("insert_plain_jobs", jobs=codec.dump(plain))
    tx.many("insert_job", others)


_plain = operator.itemgetter(
    *("number", "job_id", "lane_id", "payload_id", "priority", "position", "terms"),
    *("created_at", "queued_at"),
)
_special = operator.itemgetter(
    *("due_at", "scheduled_for", "retry_of", "template_id", "schedule_id", "group_id"),
    *("approval", "wait_kind", "unique_key", "idempotency_key", "dedup_key"),
    *("open_deps", "gated", "attempt", "generation"),
)
_NOTHING_SPECIAL = (*[None] * 11, 0, 0, 0, 1)


class End(NamedTuple):
    """How a job ended. Jobs that ended alike share a statement."""

    status: JobStatus
    exit_code: int | None
    retry_state: RetryState
    progress: str | None = None
    wait_kind: str | None = None
    wait_detail: str | None = None
    started_at: int | None = None
    run_id: str | None = None
    waited_on: str | None = None
    blocked_by: str | None = None


def end(tx: Transaction, ends: Sequence[tuple[int, End]]) -> None:
    """Jobs that ended, by number, and the totals that count them."""
    tx.many("end_jobs", records.grouped(ends, "numbers", finished_at=tx.now_ms))
    counts = Counter(one.status for _, one in ends)
    tx.many(
        "add_to_total",
        [{"status": status, "count": count} for status, count in sorted(counts.items())],
    )


def without_retry_decision(tx: Transaction, after: int, count: int) -> list[int]:
    """Failures for which no retry was decided, by number, after this one."""
    return [row["number"] for row in tx.rows("without_retry_decision", after=after, count=count)]


def set_retry_state(tx: Transaction, number: int, state: RetryState) -> None:
    """What was decided about trying a job again."""
    tx.do("set_retry_state", number=number, retry_state=state)


def totals(tx: Transaction) -> dict[JobStatus, int]:
    """How many jobs ever ended in which status."""
    return {JobStatus(row["status"]): row["count"] for row in tx.rows("totals")}


class ChainEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The link of a chain by which it is judged."""

    chain: int
    number: int
    job_id: str
    status: JobStatus
    detail: str | None


def chain_ends(tx: Transaction, chains: Collection[int]) -> dict[int, ChainEnd]:
    """The last link of each of these chains."""
    return {link.chain: link for link in _links(tx, chains)}


def deciding_links(tx: Transaction, chains: Collection[int]) -> dict[int, ChainEnd]:
    """The link by which each of these chains is judged by the jobs after it."""
    found: dict[int, ChainEnd] = {}
    for link in _links(tx, chains):
        earlier = found.get(link.chain)
        if earlier is None or not retries.settles_its_chain(earlier.status):
            found[link.chain] = link
    return found


def numbers_of_chain(tx: Transaction, chain: int) -> list[int]:
    """Every link of a chain, the oldest first, with those that a rewind made history."""
    rows = tx.rows("chain_links", chains=records.with_history([chain]))
    return sorted(row["number"] for row in rows)


def numbers_of_links(tx: Transaction, chain: int) -> list[int]:
    """The links of a chain, or of its history if the number is negative."""
    return [row["number"] for row in tx.rows("chain_links", chains=records.listed([chain]))]


def links(tx: Transaction, chains: Collection[int]) -> list[JobRecord]:
    """All links of these chains."""
    return tx.values(JobRecord, "chain_members", chains=records.listed(chains))


def links_with_history(tx: Transaction, chains: Collection[int]) -> list[JobRecord]:
    """All links of these chains, also those that a rewind made history."""
    return tx.values(JobRecord, "chain_members", chains=records.with_history(chains))


def producing_links(tx: Transaction, chains: Collection[int]) -> dict[int, ChainEnd]:
    """The link by which each of these chains is judged as a producer: an active one goes first."""
    last = chain_ends(tx, chains)
    over = [chain for chain, link in last.items() if link.status in states.TERMINAL]
    return {**last, **deciding_links(tx, over)}


def _links(tx: Transaction, chains: Collection[int]) -> Iterator[ChainEnd]:
    """The links of these chains, the oldest of each first."""
    for row in tx.rows("chain_links", chains=records.listed(chains)) if chains else ():
        yield ChainEnd(
            chain=row["chain"],
            number=row["number"],
            job_id=row["job_id"],
            status=JobStatus(row["status"]),
            detail=row["wait_detail"],
        )
