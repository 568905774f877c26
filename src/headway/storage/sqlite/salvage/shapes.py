"""What the rows of each table look like, as the current schema has them."""

import sqlite3
from collections.abc import Sequence

import msgspec

from headway.storage.sqlite.salvage.cells import Cell, Value

JSON = {
    "payloads": ("body",),
    "jobs": ("terms", "waited_on"),
    "lanes": ("key", "requires", "limits"),
    "events": ("data",),
    "templates": ("body",),
    "schedules": ("body",),
    "webhooks": ("events",),
    "workers": ("abilities",),
}
"""Columns whose text must be JSON: a row that goes on in a page that was overwritten is not."""

TOGETHER = frozenset({"events"})
"""Tables of which partial indexes have every row together."""

_VIRTUAL, _STORED = 2, 3


class Column(msgspec.Struct, frozen=True):
    """A column as it stands in a record."""

    name: str
    is_text: bool
    nullable: bool
    is_rowid: bool = False
    is_computed: bool = False
    may_be_missing: bool = False
    """Whether it can have been added later: rows from before do without it."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A table, or an index of one, and the columns of its records in their order."""

    name: str
    table: str
    columns: tuple[Column, ...]
    has_rowids: bool
    key: tuple[str, ...]
    is_complete: bool = True
    """Whether every row of the table is in it."""

    @property
    def is_table(self) -> bool:
        """Whether its records are rows."""
        return self.name == self.table

    def fits(self, cell: Cell) -> bool:
        """Whether a record can be one of these; columns that were added later may be missing."""
        values = cell.values or ()
        missing = self.columns[len(values) :]
        if len(values) > len(self.columns) or not all(one.may_be_missing for one in missing):
            return False
        if (cell.rowid is not None) != self.has_rowids:
            return False
        pairs = zip(self.columns, values, strict=False)
        return all(_fits(column, value) for column, value in pairs)

    def row(self, cell: Cell) -> dict[str, Value]:
        """A record as a row to insert."""
        return {
            column.name: cell.rowid if column.is_rowid else value
            for column, value in zip(self.columns, cell.values or (), strict=False)
            if not column.is_computed
        }

    def is_sound(self, row: dict[str, Value]) -> bool:
        """Whether what must be JSON is."""
        try:
            for name in JSON.get(self.table, ()):
                text = row.get(name)
                if isinstance(text, str):
                    msgspec.json.decode(text)
        except msgspec.DecodeError:
            return False
        return True


def _fits(column: Column, value: Value) -> bool:
    if value is None:
        return column.nullable or column.is_rowid
    if column.is_text:
        return isinstance(value, str) and "\0" not in value
    return isinstance(value, int)


def tables(schema: sqlite3.Connection, names: Sequence[str]) -> dict[str, Shape]:
    """The shapes of tables."""
    return {name: _table(schema, name) for name in names}


def _table(schema: sqlite3.Connection, name: str) -> Shape:
    facts = [row for row in schema.execute(f"PRAGMA table_xinfo({name})") if row[6] != _VIRTUAL]
    key = tuple(row[1] for row in sorted(facts, key=lambda row: row[5]) if row[5])
    has_rowids = not _without_rowid(schema, name)
    if not has_rowids:  # the key comes first in the record
        facts = [*(row for part in key for row in facts if row[1] == part)] + [
            row for row in facts if not row[5]
        ]
    return Shape(
        name=name,
        table=name,
        has_rowids=has_rowids,
        key=key,
        columns=tuple(
            Column(
                name=row[1],
                is_text=row[2] == "TEXT",
                nullable=not row[3] and not (row[5] and not has_rowids),
                is_rowid=has_rowids and row[1] == key[0] and row[2] == "INTEGER",
                is_computed=row[6] == _STORED,
                may_be_missing=not row[3] or row[4] is not None,
            )
            for row in facts
        ),
    )


def _without_rowid(schema: sqlite3.Connection, name: str) -> bool:
    rows = schema.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    return bool(rows[0])


def indexes(schema: sqlite3.Connection, table: Shape) -> list[Shape]:
    """The shapes of the indexes of a table."""
    columns = {column.name: column for column in table.columns}
    rowid = Column(name=table.key[0], is_text=False, nullable=False)
    return [
        Shape(
            name=name,
            table=table.name,
            has_rowids=False,
            key=table.key,
            is_complete=not partial or table.name in TOGETHER,
            columns=tuple(
                msgspec.structs.replace(columns.get(part, rowid), may_be_missing=False)
                for _, cid, part in schema.execute(
                    "SELECT seqno, cid, name FROM pragma_index_xinfo(?)", (name,)
                )
            ),
        )
        for _, name, _, origin, partial in schema.execute(f"PRAGMA index_list({table.name})")
        if origin != "pk" or table.has_rowids
    ]
