"""Groups as they are kept."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from headway.domain import errors
from headway.domain.jobs import Terms
from headway.domain.manage import groups
from headway.domain.manage.groups import Group, GroupMode, Member, OnFailure
from headway.domain.values import moments
from headway.storage import chains, records
from headway.storage.chains import ChainEnd
from headway.storage.engine import codec, slices
from headway.storage.engine.question import Row
from headway.storage.engine.slices import Sized, Slice
from headway.storage.engine.transaction import Transaction
from headway.storage.new_jobs import NewJob

BYTES_A_MEMBER = 100
"""About as much does a member take in a list of groups."""


def insert(
    tx: Transaction,
    *,
    group_id: str,
    name: str | None,
    mode: GroupMode,
    on_failure: OnFailure,
    on_complete: "Completion | None" = None,
) -> None:
    """A new group, still without members."""
    tx.do(
        "insert_group",
        group_id=group_id,
        name=name,
        mode=mode,
        on_failure=on_failure,
        created_at=tx.now_ms,
        on_complete=codec.dump(on_complete) if on_complete else None,
    )


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The job that is made when a group ends, as it was planned with the group."""

    job: NewJob
    """Its number, id, position and moment are those of the end."""
    params: dict[str, Any]
    delay_s: float | None
    is_command: bool
    """A program gets the summary as its standard input."""


def find(tx: Transaction, name: str) -> Group:
    """One group by id or name; of several with one name the newest."""
    row = tx.row("group_by_id", group_id=name) or tx.row("group_by_name", name=name)
    if row is None:
        raise errors.NotFound("group", name)
    return _views(tx, [row])[0]


def page(tx: Transaction, *, before: str | None, count: int) -> Slice[Group]:
    """Groups, newest first."""
    rows = tx.rows("groups", before=before, count=count + 1)
    ids = records.listed(row["group_id"] for row in rows)
    jobs_of = {row["group_id"]: row["jobs"] for row in tx.rows("sizes_of_groups", group_ids=ids)}
    sized = [Sized(row, jobs_of.get(row["group_id"], 0) * BYTES_A_MEMBER) for row in rows]
    return slices.read(sized, count, partial(_views, tx))


class GroupRecord(NamedTuple):
    """A group without its members."""

    group_id: str
    mode: GroupMode
    on_failure: OnFailure
    chain: int | None
    """Under which number it stands among the dependencies, if a job comes after it."""
    name: str | None
    on_complete: str | None
    """The `Completion` that is still to come, as it is kept."""

    @property
    def completion(self) -> Completion | None:
        """The job to make when it ends."""
        return msgspec.json.decode(self.on_complete, type=Completion) if self.on_complete else None


def read(tx: Transaction, group_id: str) -> GroupRecord | None:
    """One group by id."""
    row = tx.row("group_by_id", group_id=group_id)
    return _record(row) if row else None


def named(tx: Transaction, name: str) -> GroupRecord | None:
    """One group by id or name; of several with one name the newest."""
    row = tx.row("group_by_id", group_id=name) or tx.row("group_by_name", name=name)
    return _record(row) if row else None


def _record(row: Row) -> GroupRecord:
    mode, on_failure = GroupMode(row["mode"]), OnFailure(row["on_failure"])
    to_come = row["on_complete"] if row["on_complete_job"] is None else None
    return GroupRecord(row["group_id"], mode, on_failure, row["chain"], row["name"], to_come)


def completed(tx: Transaction, group_id: str, job_id: str) -> None:
    """The job that is made when the group ends was made; there is never another."""
    tx.do("group_completed", group_id=group_id, job_id=job_id)


def set_chain(tx: Transaction, group_id: str, chain: int) -> None:
    """From now on jobs may come after the group, under this number."""
    tx.do("set_group_chain", group_id=group_id, chain=chain)


def chains_of(tx: Transaction, group_ids: Iterable[str]) -> list[int]:
    """The numbers under which those of these groups that jobs come after stand."""
    rows = tx.rows("chains_of_groups", group_ids=records.listed(group_ids))
    return [row["chain"] for row in rows]


def by_chains(tx: Transaction, chains: Iterable[int]) -> dict[int, Group]:
    """The groups that stand under these numbers among the dependencies, by number."""
    wanted = [chain for chain in chains if chain < 0]
    rows = tx.rows("groups_by_chain", chains=records.listed(wanted)) if wanted else ()
    return dict(zip((row["chain"] for row in rows), _views(tx, rows), strict=True))


class MemberRecord(NamedTuple):
    """A job of a group."""

    number: int
    job_id: str
    chain: int


def members(tx: Transaction, group_id: str) -> list[MemberRecord]:
    """The jobs of a group in order, retries included."""
    rows = tx.rows("group_members", group_id=group_id)
    return [MemberRecord(row["number"], row["job_id"], row["chain"]) for row in rows]


def has_active_member(tx: Transaction, group_id: str) -> bool:
    """Whether a member has not ended."""
    return bool(tx.rows("active_member", group_id=group_id))


class MemberPlace(NamedTuple):
    """The place of a member in its group and in the queue, and what it comes after."""

    number: int
    group_place: int | None
    position: int
    terms: Terms
    open_deps: int


def move_members(tx: Transaction, places: Iterable[MemberPlace]) -> None:
    """Other places for members that have not started."""
    rows = [{**one._asdict(), "terms": codec.dump_terms(one.terms)} for one in places]
    tx.many("move_member", rows)


def open_without_active_members(tx: Transaction) -> list[str]:
    """Groups that are not marked as ended although every member has."""
    return [row["group_id"] for row in tx.rows("open_groups_without_active_members")]


def end(tx: Transaction, group_id: str) -> int:
    """Every member has ended; returns whether the group is there."""
    return tx.do("end_group", group_id=group_id, ended_at=tx.now_ms)


def reopen(tx: Transaction, group_id: str) -> None:
    """A member is tried again."""
    tx.do("reopen_group", group_id=group_id)


def _views(tx: Transaction, rows: Sequence[Row]) -> list[Group]:
    members: dict[str, list[Row]] = {row["group_id"]: [] for row in rows}
    for member in tx.rows("members_of_groups", group_ids=records.listed(members)):
        members[member["group_id"]].append(member)
    ends = chains.ends(tx, {one["chain"] for found in members.values() for one in found})
    return [_view(row, members[row["group_id"]], ends) for row in rows]


def _view(row: Row, members: Sequence[Row], ends: dict[int, ChainEnd]) -> Group:
    shown = tuple(
        Member(job_id=one["job_id"], number=one["number"], status=ends[one["chain"]].status)
        for one in members
    )
    return Group(
        group_id=row["group_id"],
        name=row["name"],
        mode=GroupMode(row["mode"]),
        on_failure=OnFailure(row["on_failure"]),
        status=groups.status_of([one.status for one in shown]),
        members=shown,
        created_at=moments.from_millis(row["created_at"]),
        on_complete_job=row["on_complete_job"],
    )
