"""Artifact kinds that other packages bring along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from headway.domain import artifacts

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "headway.artifacts"

# Given the workspace's root and the artifact's key: is it there?
Check: TypeAlias = Callable[[Path, str], bool]


class Loaded(NamedTuple):
    """The checks by kind, and by kind why a plug-in is left out."""

    checks: Mapping[str, Check]
    problems: Mapping[str, str]


def load() -> Loaded:
    """What installed packages register; a plug-in that cannot be used is left out."""
    # Imported here because it is slow and most commands never need it.
    from importlib.metadata import entry_points

    checks: dict[str, Check] = {}
    problems: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        try:
            check = _check(entry)
            if entry.name in checks:
                raise _Unusable("is not used: another one brings this kind too")
            checks[entry.name] = check
        except _Unusable as problem:
            problems[entry.name] = f"the plug-in {entry.value} {problem}"
    return Loaded(checks, problems)


class _Unusable(Exception):
    """What is wrong with a plug-in."""


def _check(entry: EntryPoint) -> Check:
    if artifacts.is_built_in(entry.name):
        raise _Unusable("is not used: this kind is built in")
    try:
        check = entry.load()
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())
        raise _Unusable(f"could not be loaded: {type(error).__name__}: {said}") from error
    if not callable(check):
        raise _Unusable("could not be loaded: it is not callable")
    return cast(Check, check)
