"""What a package index would show of Headway is what was tested."""

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests.docs.fences import ROOT

import headway

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
NEEDED = [*PROJECT["project"]["dependencies"], *EXTRAS["postgres"], *EXTRAS["dev"]]


def pinned() -> dict[str, Version]:
    """The versions that the tests run with."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pairs = (line.split("==") for line in lines)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


@pytest.mark.parametrize("text", [one for one in NEEDED if not one.startswith("headway")])
def test_a_dependency_is_at_least_what_was_tested(text: str) -> None:
    needed = Requirement(text)
    tested = pinned()[canonicalize_name(needed.name)]
    (least,) = (one.version for one in needed.specifier if one.operator == ">=")
    assert Version(least).release[:2] == tested.release[:2]
    assert tested in needed.specifier


def test_the_version_is_written_once() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    source = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{headway.__version__}"' in source.read_text(encoding="utf-8")


def test_no_pin_names_where_it_comes_from() -> None:
    assert "/" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")
