"""Named queries: `.sql` files in which `-- name: …` starts each statement.

The comment lines under the name say what the query is for. Parameters are written `:like_this` in
both dialects, so that the files of the two folders differ only where the dialects do. `{table}`
stands for the columns of a table, `t.{table}` for those of the table that is called `t` here.
"""

import re
from functools import cache
from importlib import resources

from headway.storage.columns import COLUMNS

Migration = tuple[int, str, str]
"""Its number, its name and its text."""

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_COLUMNS = re.compile(r"(\w+\.)?\{(\w+)\}")


@cache
def load(package: str) -> dict[str, str]:
    """Every named query of a package's `queries` folder."""
    found: dict[str, str] = {}
    for file in sorted(
        resources.files(package).joinpath("queries").iterdir(), key=lambda one: one.name
    ):
        if file.name.endswith(".sql"):
            for name, text in _split(file.read_text(encoding="utf-8")):
                if name in found:
                    raise ValueError(f"query {name} is written twice")
                found[name] = _COLUMNS.sub(_columns, text)
    return found


def migrations(package: str) -> list[Migration]:
    """The migrations of a package's `migrations` folder, in order."""
    files = resources.files(package).joinpath("migrations").iterdir()
    steps = [file for file in files if file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.name[5:-4], file.read_text("utf-8")) for file in steps)


def _columns(asked: re.Match[str]) -> str:
    prefix, table = asked[1] or "", asked[2]
    return ", ".join(f"{prefix}{column}" for column in COLUMNS[table].split(", "))


def _split(text: str) -> list[tuple[str, str]]:
    parts = _NAME.split(text)[1:]
    return [
        (name, body.strip().rstrip(";")) for name, body in zip(parts[::2], parts[1::2], strict=True)
    ]
