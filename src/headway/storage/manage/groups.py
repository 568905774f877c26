"""Groups as they are kept."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

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

BYTES_A_MEMBER = 100
"""About as much does a member take in a list of groups."""


def insert(
    tx: Transaction, *, group_id: str, name: str | None, mode: GroupMode, on_failure: OnFailure
) -> None:
    """A new group, still without members."""
    tx.do(
        "insert_group",
        group_id=group_id,
        name=name,
        mode=mode,
        on_failure=on_failure,
        created_at=tx.now_ms,
    )


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


def read(tx: Transaction, group_id: str) -> GroupRecord | None:
    """One group by id."""
    row = tx.row("group_by_id", group_id=group_id)
    if row is None:
        return None
    return GroupRecord(group_id, GroupMode(row["mode"]), OnFailure(row["on_failure"]))


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
    )
