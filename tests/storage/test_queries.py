"""Named queries: what both dialects share is written once, and the rest really differs."""

import ast
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

import headway
from headway.storage import queries

SHARED = "headway.storage"
SQLITE = "headway.storage.sqlite"
POSTGRES = "headway.storage.postgres"
SOURCE = Path(headway.__file__).parent
HEAD = re.compile(r"^-- name: (\w+)", re.MULTILINE)
PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
OUTSIDE = sorted(
    file for file in SOURCE.rglob("*.py") if not file.is_relative_to(SOURCE / "storage")
)
"""Modules that ask the store by its typed functions alone."""
METHODS = {"rows", "values", "row", "value", "do", "put", "many", "select"}


def test_both_dialects_have_the_same_queries() -> None:
    assert queries.load(SQLITE).keys() == queries.load(POSTGRES).keys()


def test_a_query_takes_the_same_parameters_in_both_dialects() -> None:
    here, there = queries.load(SQLITE), queries.load(POSTGRES)
    differing = {
        name
        for name in here.keys() & there.keys()
        if _parameters(there[name]) not in ({"rows"}, _parameters(here[name]))
    }
    assert differing == set()


def test_a_query_is_either_shared_or_written_for_both_dialects() -> None:
    shared, here, there = (queries.written(one) for one in (SHARED, SQLITE, POSTGRES))
    assert here.keys() == there.keys()
    assert shared.keys() & here.keys() == set()


def test_each_query_that_is_written_twice_really_differs() -> None:
    here, there = queries.written(SQLITE), queries.written(POSTGRES)
    assert [name for name in here if _plain(here[name]) == _plain(there[name])] == []


@pytest.mark.parametrize("package", [SHARED, SQLITE, POSTGRES])
def test_no_name_is_defined_twice_in_one_folder(package: str) -> None:
    names = [name for found in _names(package).values() for name in found]
    assert sorted(names) == sorted(set(names))


def test_the_folders_of_both_dialects_hold_their_queries_in_the_same_order() -> None:
    assert _names(SQLITE) == _names(POSTGRES)


@pytest.mark.parametrize("package", [SQLITE, POSTGRES])
def test_everything_written_for_both_dialects_is_expanded(package: str) -> None:
    left = re.compile(r"\w\[(text|bigint)\](?!\))|:\w+::|\{\w+\}")
    texts = queries.load(package).items()
    assert [name for name, text in texts if left.search(_plain(text))] == []


@pytest.mark.parametrize(
    ("written", "on_sqlite", "on_postgres"),
    [
        (
            "a IN :names[text]",
            "a IN (SELECT value FROM json_each(:names))",
            "a = ANY (CAST(:names AS text[]))",
        ),
        (
            "a NOT IN :ids[bigint]",
            "a NOT IN (SELECT value FROM json_each(:ids))",
            "a <> ALL (CAST(:ids AS bigint[]))",
        ),
        (
            "FROM :names[text] n",
            "FROM json_each(:names) n",
            "FROM unnest(CAST(:names AS text[])) n (value)",
        ),
        (":now::bigint - 1", ":now - 1", "CAST(:now AS bigint) - 1"),
        ("least(a, greatest(b, c))", "min(a, max(b, c))", "least(a, greatest(b, c))"),
    ],
)
def test_lists_and_casts_are_expanded_for_each_dialect(
    written: str, on_sqlite: str, on_postgres: str
) -> None:
    assert queries.expanded(SQLITE, written) == on_sqlite
    assert queries.expanded(POSTGRES, written) == on_postgres


def test_every_named_query_is_used() -> None:
    code = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    assert [name for name in queries.load(SQLITE) if f'"{name}"' not in code] == []


def test_every_query_that_is_asked_for_exists() -> None:
    asked = {name for file in SOURCE.rglob("*.py") for name in _asked(file)}
    assert asked
    assert asked - queries.load(SQLITE).keys() == set()


def test_no_query_is_named_and_no_row_is_read_outside_storage() -> None:
    assert len(OUTSIDE) > 300
    assert [file.name for file in OUTSIDE if {*_asked(file)} or _takes_rows(file)] == []


def test_only_one_module_knows_when_work_must_be_done_alone() -> None:
    """What else PostgreSQL needs is said through storage; only what carries work says how."""
    knowing = {"alone", "beside", "repeats"}
    found = [file.name for file in OUTSIDE if _used_of_transactions(file) & knowing]
    assert found == ["alone.py"]


def _takes_rows(file: Path) -> bool:
    """Whether a file calls a query, or imports what only storage may know."""
    imported = {
        alias.name
        for one in ast.walk(ast.parse(file.read_text()))
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }
    return bool(imported & {"Row", "Manner"}) or bool(_used_of_transactions(file) & METHODS)


def _used_of_transactions(file: Path) -> set[str]:
    """The attributes of transactions that a file uses."""
    return {
        node.attr
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and _is_transaction(node.value)
    }


def _is_transaction(node: ast.expr) -> bool:
    match node:
        case ast.Name("tx") | ast.Attribute(attr="tx" | "_tx"):
            return True
    return False


def _asked(file: Path) -> Iterator[str]:
    """The names of queries that questions and calls on a transaction spell out."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("question")), args=[_, given, *_]):
                yield from _spelled_out(given)
            case ast.Call(func=ast.Attribute(value=asked, attr="values"), args=[_, given, *_]):
                yield from _spelled_out(given) if _is_transaction(asked) else ()
            case ast.Call(func=ast.Attribute(value=asked, attr=method), args=[given, *_]):
                if method in METHODS - {"select"} and _is_transaction(asked):
                    yield from _spelled_out(given)


def _spelled_out(given: ast.expr) -> Iterator[str]:
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        yield given.value


def _names(package: str) -> dict[str, list[str]]:
    folder = Path(str(resources.files(package))) / "queries"
    return {file.name: HEAD.findall(file.read_text()) for file in folder.glob("*.sql")}


def _parameters(text: str) -> set[str]:
    return set(PARAMETER.findall(_plain(text)))


def _plain(text: str) -> str:
    """A query without its comments, on one line."""
    return " ".join(re.sub(r"--.*", "", text).split())
