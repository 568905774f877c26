"""The list of planted faults fits the code: each can be planted, and what catches it is there."""

import ast
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest
from mutants import ALL, Fault, NamedTest, catching
from mutants.fault import MisplacedError
from tests.docs.fences import ROOT

from headway.storage import queries

SECTIONS = {*range(2, 14), 23, 24}
SQLITE = "headway.storage.sqlite"


class Anything(defaultdict[str, int]):
    """A value for every parameter."""

    def __init__(self) -> None:
        super().__init__(int)


@pytest.fixture(scope="module")
def schema() -> sqlite3.Connection:
    """A database with the current schema."""
    return migrated({name: text for _, name, text in queries.migrations(SQLITE)})


def migrated(texts: dict[str, str]) -> sqlite3.Connection:
    """A database that these migrations made, in their order."""
    connection = sqlite3.connect(":memory:")
    for text in texts.values():
        connection.executescript(text)
    return connection


def test_every_section_of_the_contract_has_planted_faults() -> None:
    assert {fault.section for fault in ALL} >= SECTIONS
    assert len(ALL) >= 80
    assert len({fault.name for fault in ALL}) == len(ALL)


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_and_is_code(fault: Fault, schema: sqlite3.Connection) -> None:
    sound = (ROOT / fault.path).read_text(encoding="utf-8")
    planted = fault.plant(sound)
    assert planted != sound
    if fault.path.suffix == ".py":
        ast.parse(planted)
    elif fault.path.parent.name == "migrations":
        steps = {name: text for _, name, text in queries.migrations(SQLITE)}
        migrated(steps | {fault.path.stem[5:]: planted})
    else:
        for name, text in queries.split(planted):
            plan(schema, name, text)


def plan(schema: sqlite3.Connection, name: str, text: str) -> None:
    """Have SQLite read a query."""
    expanded = queries.expanded(SQLITE, text)
    schema.execute(f"EXPLAIN {expanded}", Anything())


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_what_catches_a_fault_is_there(fault: Fault) -> None:
    if isinstance(fault.caught_by, NamedTest):
        tree = ast.parse((ROOT / fault.caught_by.file).read_text(encoding="utf-8"))
        names = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
        assert fault.caught_by.function in names


@pytest.mark.parametrize(
    ("code", "failures", "failed"),
    [
        (1, ["AssertionError: assert 1 == 2"], True),
        (1, ["Failed: DID NOT RAISE <class 'headway.domain.errors.conflict.NotActive'>"], True),
        (1, ["NameError: name 'x' is not defined"], False),
        (1, ["sqlite3.OperationalError: no such column: x"], False),
        (1, [], False),  # an error around the test
        (2, [], False),  # the test could not be collected
        (4, [], False),  # there is no such test
        (-1, [], False),  # it took too long
    ],
)
def test_only_a_failed_test_has_caught_a_fault(
    code: int, failures: list[str], failed: bool
) -> None:
    seen = catching.judge_test(code, failures, "said", 1.0)
    assert (seen.passed, seen.failed) == (False, failed)
    assert catching.judge_test(0, [], "said", 1.0).passed


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("seed 7 failed: job 3 was acknowledged and is gone", True),
        ("seed 0 failed: AttributeError: 'NoneType' object has no attribute 'x'", False),
        ("ModuleNotFoundError: No module named 'x'", False),
    ],
)
def test_only_a_broken_promise_in_a_play_has_caught_a_fault(said: str, failed: bool) -> None:
    assert catching.judge_plays(1, said, 1.0).failed is failed


def test_a_fault_whose_text_has_moved_is_refused() -> None:
    fault = ALL[0]
    with pytest.raises(MisplacedError, match="stands 2 times"):
        fault.plant(fault.text * 2)
    with pytest.raises(MisplacedError, match="stands 0 times"):
        fault.plant(Path(__file__).name)
