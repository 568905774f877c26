"""Named queries as psycopg wants them: `:name` becomes `%(name)s`."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from headway.storage import queries

PACKAGE = "headway.storage.postgres"

_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
_JSON_PARAMETER = re.compile(r"\b(?:numbers_in|words_in|CAST)\(:([a-z]\w*)")
_JSON_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class Statement(NamedTuple):
    """SQL for psycopg, and what its parameters are."""

    text: bytes
    takes_rows: bool
    json_parameters: frozenset[str]

    def clean(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """PostgreSQL has no character NUL, neither in text nor in JSON that it reads."""
        return {
            name: _clean(value, name in self.json_parameters) if isinstance(value, str) else value
            for name, value in params.items()
        }


def named(name: str) -> Statement:
    """The statement of a named query."""
    return statement(queries.load(PACKAGE)[name])


@lru_cache(maxsize=2000)
def statement(sql: str) -> Statement:
    """SQL with `:name` parameters for psycopg."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    plain = "\n".join(lines)
    return Statement(
        text=_PARAMETER.sub(r"%(\1)s", plain.replace("%", "%%")).encode(),
        takes_rows=set(_PARAMETER.findall(plain)) == {"rows"},
        json_parameters=frozenset(_JSON_PARAMETER.findall(plain)),
    )


def _clean(value: str, is_json: bool) -> str:
    if "\0" in value:
        value = value.replace("\0", "\ufffd")
    if is_json and "\\u0000" in value:
        value = _JSON_NUL.sub(r"\1\\ufffd", value)
    return value
