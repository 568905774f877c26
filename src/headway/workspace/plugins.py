"""Artifact kinds that other packages bring along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "headway.artifacts"

# Given the workspace's root and the artifact's key: is it there?
Check: TypeAlias = Callable[[Path, str], bool]


def load() -> Mapping[str, Check]:
    """The checks that installed packages register, by kind."""
    # Imported here because it is slow and most commands never need it.
    from importlib.metadata import entry_points

    return {entry.name: _check(entry) for entry in entry_points(group=GROUP)}


def _check(entry: EntryPoint) -> Check:
    try:
        check = entry.load()
    except Exception as error:
        error.add_note(f"while loading the artifact kind {entry.name!r} ({entry.value})")
        raise
    if not callable(check):
        raise TypeError(f"artifact kind {entry.name!r}: {entry.value} is not callable")
    return cast(Check, check)
