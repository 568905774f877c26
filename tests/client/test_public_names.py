"""The public names: enough for a user, and loaded when they are used."""

import ast
import inspect
import json
import subprocess
import sys
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

import headway
from headway import protocol
from headway.domain.manage.groups import AsConfigured
from headway.domain.manage.limits import StandardPolicy
from headway.protocol.operation import Nothing, Operation


def imported_for_types() -> dict[str, str]:
    """What a type checker sees, as `name: module` or `name: module:name there`."""
    tree = ast.parse(Path(inspect.getfile(headway)).read_text(encoding="utf-8"))
    (block,) = (one for one in tree.body if isinstance(one, ast.If))
    return {
        name.asname or name.name: f"{one.module}:{name.name}" if name.asname else str(one.module)
        for one in block.body
        if isinstance(one, ast.ImportFrom)
        for name in one.names
    }


def test_a_type_checker_sees_the_names_that_are_there() -> None:
    modules = {name: home.rpartition(".")[0] for name, home in headway._MODULES.items()}
    assert imported_for_types() == {**headway._HOMES, **modules}
    assert headway.__all__ == sorted([*headway._HOMES, *headway._MODULES, "connect"])


def test_names_that_are_not_loaded_yet_are_listed_too() -> None:
    assert {*headway.__all__, "__version__"} <= set(dir(headway))


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = "import headway, sys, json; dir(headway); print(json.dumps(sorted(sys.modules)))"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    loaded = set(json.loads(said))
    assert {name for name in loaded if name.partition(".")[0] == "headway"} == {"headway"}
    assert not loaded & {"msgspec", "sqlite3", "httpx", "asyncio"}


def test_what_an_operation_takes_needs_no_private_import() -> None:
    public = [getattr(headway, name) for name in headway.__all__]
    for area in operations_of_users():
        rows = [one for one in vars(area).values() if isinstance(one, Operation)]
        assert rows
        for one in rows:
            for kind in (*own_types(one.body), *own_types(one.query)):
                assert kind in (Nothing, *public, *vars(area).values()), f"{one.path} takes {kind}"


def test_what_a_plug_in_takes_and_returns_needs_no_private_import() -> None:
    public = [getattr(headway, name) for name in headway.__all__]
    for method in (StandardPolicy.uses, AsConfigured.on_member_failed):
        hints = typing.get_type_hints(method)
        assert {kind for hint in hints.values() for kind in own_types(hint)} <= set(public)


def operations_of_users() -> Iterator[Any]:
    """All operations but those of workers, which have a protocol of their own."""
    return (getattr(headway.protocol, name) for name in protocol.__all__ if name != "work")


def own_types(hint: Any) -> Iterator[type]:
    """The structs and enums in a type, and those in their fields."""
    for part in typing.get_args(hint):
        yield from own_types(part)
    if isinstance(hint, type) and issubclass(hint, Enum) and hint.__module__ != "msgspec":
        yield hint
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
        for field in msgspec.structs.fields(hint):
            yield from own_types(field.type)
