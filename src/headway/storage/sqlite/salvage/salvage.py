"""Everything that can be read of a damaged file, into a new one with the current schema."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from headway.storage.engine import codec
from headway.storage.engine.move import KEYS
from headway.storage.sqlite.files import connect
from headway.storage.sqlite.salvage import shapes
from headway.storage.sqlite.salvage.cells import Cell, Value
from headway.storage.sqlite.salvage.pages import Image
from headway.storage.sqlite.salvage.shapes import Shape
from headway.storage.sqlite.salvage.trees import Trees, Walk

TABLES = ("counters", *KEYS)
REPLACED = frozenset({"counters", "limits", "payloads"})
"""Tables in which a new database has rows."""

LANE_KEYS = "sqlite_autoindex_lanes_1"

_PAYLOADS_IN_USE = "SELECT payload_id FROM jobs UNION SELECT payload_id FROM runs"
_FORGET_EVENT_NUMBER = "DELETE FROM sqlite_sequence WHERE name = 'events'"
_SET_EVENT_NUMBER = """
INSERT INTO sqlite_sequence (name, seq)
SELECT 'events', max(?, coalesce(max(seq), 0)) FROM events
"""


class Saved(msgspec.Struct, kw_only=True):
    """What became of a table."""

    saved: int = 0
    lost: int | None = 0
    """How many rows are lost; None if nothing tells."""
    lost_keys: list[list[str]] = msgspec.field(default_factory=list)
    damaged_pages: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.lost == 0 and not self.damaged_pages


def salvage(source: Path, target: Path, progress: Callable[[int, int], None]) -> dict[str, Saved]:
    """Copy what can be read; the target has the current schema and no rows of its own."""
    with contextlib.closing(connect(target, create=False)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        report = _Salvage(Image(source), raw, progress).run()
        raw.execute("COMMIT")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return report


class _Salvage:
    """One pass over a file."""

    def __init__(
        self, image: Image, target: sqlite3.Connection, progress: Callable[[int, int], None]
    ) -> None:
        self._trees = Trees(image)
        self._target = target
        self._progress = progress
        self._tables = shapes.tables(target, TABLES)
        self._report = {name: Saved() for name in TABLES}
        self._keys: dict[str, set[tuple[Value, ...]]] = {}
        self._torn: list[Shape] = []
        """Tables and indexes of which a page cannot be read: others below it may be cut off."""
        self._uncertain: set[str] = set()
        """Tables of which an index may not tell every key."""
        self._lane_keys: list[dict[str, Value]] = []

    def run(self) -> dict[str, Saved]:
        """Tables from their roots, then pages that were cut off, then what is missing."""
        roots, schema_is_torn = self._trees.roots()
        known = [one for one in self._tables.values() if one.name in roots or schema_is_torn]
        for done, shape in enumerate(known):
            self._progress(done, len(known))
            self._save_table(shape, roots.get(shape.name))
        for index in (one for shape in known for one in shapes.indexes(self._target, shape)):
            if index.name in roots or schema_is_torn:
                self._read_index(index, roots.get(index.name))
        self._save_event_number(roots.get("sqlite_sequence"))
        if self._torn:
            for cells in self._trees.cut_off():
                self._adopt(cells)
        self._save_lanes_from_keys()
        self._keys["payloads"] = set(self._target.execute(_PAYLOADS_IN_USE))
        for shape in self._tables.values():
            self._count(shape)
        return self._report

    def _save_table(self, shape: Shape, root: int | None) -> None:
        walk, told = Walk(self._trees, root), self._report[shape.name]
        bad = self._insert(shape, walk)
        told.damaged_pages = walk.damaged
        told.lost = walk.bad_cells + bad
        if walk.damaged:
            self._torn.append(shape)

    def _read_index(self, index: Shape, root: int | None) -> None:
        """The keys that an index tells."""
        walk = Walk(self._trees, root)
        rows = [index.row(cell) for cell in walk if index.fits(cell)]
        if walk.damaged:
            self._torn.append(index)
        if index.is_complete and (walk.damaged or walk.bad_cells):
            self._uncertain.add(index.table)
        if index.is_complete:
            told = self._keys.setdefault(index.table, set())
            told |= {tuple(row[name] for name in index.key) for row in rows}
        if index.name == LANE_KEYS:
            self._lane_keys = rows

    def _adopt(self, cells: list[Cell]) -> None:
        """Rows of a page that was cut off, if it can be a page of one torn tree alone."""
        owners = [shape for shape in self._torn if all(map(shape.fits, cells))]
        if len(owners) == 1 and owners[0].is_table:
            self._insert(owners[0], cells)

    def _insert(self, shape: Shape, cells: Iterable[Cell]) -> int:
        """Insert rows; return how many are not what they should be."""
        bad = 0
        for cell in cells:
            row = shape.row(cell) if shape.fits(cell) else None
            if row is None or not shape.is_sound(row) or not self._insert_row(shape, row):
                bad += 1
        return bad

    def _insert_row(self, shape: Shape, row: dict[str, Value]) -> bool:
        verb = "REPLACE" if shape.name in REPLACED else "IGNORE"
        marks = ", ".join("?" * len(row))
        statement = f"INSERT OR {verb} INTO {shape.name} ({', '.join(row)}) VALUES ({marks})"
        try:
            return self._target.execute(statement, tuple(row.values())).rowcount == 1
        except sqlite3.IntegrityError:
            return False

    def _save_event_number(self, root: int | None) -> None:
        """Events are numbered on from the last one that there ever was."""
        for cell in Walk(self._trees, root):
            match cell.values:
                case ("events", int(seq)):
                    self._target.execute(_FORGET_EVENT_NUMBER)
                    self._target.execute(_SET_EVENT_NUMBER, (seq,))

    def _save_lanes_from_keys(self) -> None:
        """A lane that is missing is in the index of keys, and its key says everything about it."""
        for row in self._lane_keys:
            with contextlib.suppress(msgspec.DecodeError, TypeError, ValueError):
                queue, job_type, cost, requires, limits = msgspec.json.decode(str(row["key"]))
                parts = {
                    "queue": queue,
                    "job_type": job_type,
                    "cost_units": cost,
                    "requires": codec.dump(requires),
                    "limits": codec.dump(limits),
                }
                self._insert_row(self._tables["lanes"], {**row, **parts})

    def _count(self, shape: Shape) -> None:
        told = self._report[shape.name]
        key = ", ".join(shape.key)
        saved = set(self._target.execute(f"SELECT {key} FROM {shape.name}"))
        told.saved = len(saved)
        if told.is_whole:
            return
        lost = sorted(self._keys.get(shape.name, set()) - saved, key=str)
        if shape.name in self._keys.keys() - self._uncertain:
            told.lost = len(lost)
        elif told.damaged_pages:
            told.lost = None
        told.lost_keys = [[str(part) for part in one] for one in lost]
