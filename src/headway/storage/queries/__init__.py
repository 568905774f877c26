"""Named queries: `.sql` files in which `-- name: …` starts each statement.

This folder holds what SQLite and PostgreSQL share. A query that has to differ is written in the
`queries` folder of each dialect, under the same name, so that a `diff` of these two folders shows
what the dialects really change. The comment lines under a name say what the query is for.

What is written `:like_this` is a parameter. The rest is expanded once, when the files are loaded:

    {table}, t.{table}          the columns of a table, or of the table that is called `t` here
    x IN :names[text]           x is in a list; also NOT IN
    FROM :names[text] n         the list as rows, n.value each
    :since::bigint              a parameter whose type PostgreSQL cannot infer
    least(…), greatest(…)       the smallest or largest of some values
"""

import re
from functools import cache, lru_cache
from importlib import resources

from headway.storage.engine.columns import COLUMNS

Migration = tuple[int, str, str]
"""Its number, its name and its text."""

_SHARED = "headway.storage"
_SQLITE = {
    r"IN :(\w+)\[\w+\]": r"IN (SELECT value FROM json_each(:\1))",
    r":(\w+)\[\w+\]": r"json_each(:\1)",
    r":(\w+)::\w+": r":\1",
    r"\bleast\(": "min(",
    r"\bgreatest\(": "max(",
}
_POSTGRES = {
    r"NOT IN :(\w+)\[(\w+)\]": r"<> ALL (CAST(:\1 AS \2[]))",
    r"IN :(\w+)\[(\w+)\]": r"= ANY (CAST(:\1 AS \2[]))",
    r":(\w+)\[(\w+)\] (\w+)": r"unnest(CAST(:\1 AS \2[])) \3 (value)",
    r":(\w+)::(\w+)": r"CAST(:\1 AS \2)",
}
_EXPANSIONS = {"headway.storage.sqlite": _SQLITE, "headway.storage.postgres": _POSTGRES}
"""What each dialect makes of what is written for both, in this order."""

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_COLUMNS = re.compile(r"(\w+\.)?\{(\w+)\}")


@cache
def load(package: str) -> dict[str, str]:
    """Every named query of a dialect's package: the shared ones and its own."""
    shared, own = written(_SHARED), written(package)
    if twice := shared.keys() & own.keys():
        raise ValueError(f"query {min(twice)} is written twice")
    return {name: expanded(package, text) for name, text in {**shared, **own}.items()}


def written(package: str) -> dict[str, str]:
    """The named queries of one `queries` folder, as they are written."""
    found: dict[str, str] = {}
    files = resources.files(package).joinpath("queries").iterdir()
    for file in sorted(files, key=lambda one: one.name):
        if file.name.endswith(".sql"):
            for name, text in split(file.read_text(encoding="utf-8")):
                if name in found:
                    raise ValueError(f"query {name} is written twice")
                found[name] = text
    return found


def migrations(package: str) -> list[Migration]:
    """The migrations of a package's `migrations` folder, in order."""
    files = resources.files(package).joinpath("migrations").iterdir()
    steps = [file for file in files if file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.name[5:-4], file.read_text("utf-8")) for file in steps)


@lru_cache(maxsize=1000)
def expanded(package: str, text: str) -> str:
    """A query as a dialect runs it."""
    for pattern, meaning in _EXPANSIONS[package].items():
        text = re.sub(pattern, meaning, text)
    return _COLUMNS.sub(_columns, text)


def _columns(asked: re.Match[str]) -> str:
    prefix, table = asked[1] or "", asked[2]
    return ", ".join(f"{prefix}{column}" for column in COLUMNS[table].split(", "))


def split(text: str) -> list[tuple[str, str]]:
    """The named queries of one file, as they are written."""
    parts = _NAME.split(text)[1:]
    return [
        (name, body.strip().rstrip(";")) for name, body in zip(parts[::2], parts[1::2], strict=True)
    ]
