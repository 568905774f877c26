"""Named queries as psycopg wants them: `:name` becomes `%(name)s`."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from headway.storage import queries
from headway.storage.engine import codec

PACKAGE = "headway.storage.postgres"

_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
_JSON_PARAMETER = re.compile(r"CAST\(:([a-z]\w*) AS json\)")
_LIST_PARAMETER = re.compile(r"CAST\(:([a-z]\w*) AS (?:bigint|text)\[\]\)")
_JSON_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class Statement(NamedTuple):
    """SQL with its parameters by name as psycopg wants them, and by number as PostgreSQL does."""

    text: bytes
    numbered: bytes
    names: tuple[str, ...]
    takes_rows: bool
    json_parameters: frozenset[str]
    list_parameters: frozenset[str]
    prepare: bool | None
    writes: bool

    def values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as PostgreSQL takes them: lists as arrays, and no character NUL."""
        return {
            name: self._value(name, value) if isinstance(value, str) else value
            for name, value in params.items()
        }

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The one parameter of a statement that takes many rows at once."""
        return self.values({"rows": codec.dump(rows)})

    def _value(self, name: str, text: str) -> Any:
        if name in self.list_parameters:
            return _array(text)
        return _clean_json(text) if name in self.json_parameters else _clean(text)


def named(name: str) -> Statement:
    """The statement of a named query."""
    return statement(queries.load(PACKAGE)[name])


@lru_cache(maxsize=2000)
def statement(sql: str) -> Statement:
    """SQL with `:name` parameters for psycopg."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    plain = "\n".join(lines)
    takes_rows = set(_PARAMETER.findall(plain)) == {"rows"}
    # Prepared while a table is empty, an update by rows would for ever read the table for each row.
    joins_rows = plain.startswith("UPDATE") and bool(_JSON_PARAMETER.search(plain))
    names = tuple(dict.fromkeys(_PARAMETER.findall(plain)))
    return Statement(
        numbered=_PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", plain).encode(),
        names=names,
        text=_PARAMETER.sub(r"%(\1)s", plain.replace("%", "%%")).encode(),
        takes_rows=takes_rows,
        json_parameters=frozenset(_JSON_PARAMETER.findall(plain)),
        list_parameters=frozenset(_LIST_PARAMETER.findall(plain)),
        prepare=False if joins_rows else None,
        writes=plain.startswith(("INSERT", "UPDATE", "DELETE")),
    )


def _array(text: str) -> str:
    """A JSON list as PostgreSQL writes an array; most look the same but for the brackets."""
    if "\\" not in text:
        return "{" + text[1:-1] + "}"
    return "{" + ",".join("NULL" if one is None else _quoted(one) for one in codec.load(text)) + "}"


def _quoted(value: Any) -> str:
    text = _clean(str(value)).replace("\\", r"\\").replace('"', r"\"")
    return f'"{text}"'


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _clean_json(text: str) -> str:
    return _JSON_NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text
