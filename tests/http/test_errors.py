"""An error is the same over HTTP as it is without a server."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headway.client.over_http import problem
from headway.domain import errors
from headway.domain.errors import HeadwayError
from headway.http import problems, routes

OURS = [kind for kind in errors.all_errors() if kind.__module__.startswith(errors.__name__)]
VALUES: dict[Any, Any] = {
    str: "word",
    object: 7,
    int: 3,
    float: 2.5,
    bool: True,
    str | None: "word",
    list[str]: ["GET"],
    Sequence[str]: ["a", "b"],
    tuple[object, str] | None: (8, "QUEUED"),
    Mapping[str, str] | None: {"field": "problem"},
}


def made(kind: type[HeadwayError]) -> HeadwayError:
    """An error of this kind, about anything."""
    wanted = list(inspect.signature(kind).parameters.values())
    named = [one for one in wanted if one.kind is one.KEYWORD_ONLY]
    return kind(
        *(VALUES[one.annotation] for one in wanted if one not in named),
        **{one.name: VALUES[one.annotation] for one in named},
    )


@pytest.mark.parametrize(
    "kind", [*OURS, routes.MethodNotAllowed, problems.InternalError], ids=lambda kind: kind.__name__
)
def test_an_error_that_went_over_http_is_what_it_was(kind: type[HeadwayError]) -> None:
    error = made(kind)
    revived = problem(error.http_status, problems.encode(error))
    assert type(revived) is kind
    assert str(revived) == str(error)
    assert vars(revived) == vars(error)


def test_an_error_of_a_later_version_is_told_with_its_code() -> None:
    revived = errors.revive("not_yet_known", "a sentence", 418)
    assert (revived.code, revived.detail, revived.http_status) == (
        "not_yet_known",
        "a sentence",
        418,
    )


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    drawn: dict[str, set[str]] = {}
    family = ""
    lines = (errors.__doc__ or "").split("HeadwayError\n")[1].split("\n\n")[0].splitlines()
    for line in lines:
        inner, names = line[0] in "│ ", line.lstrip("│├└─ ").split()
        if not inner:
            family, names = names[0], names[:1]
        drawn.setdefault(family if inner else "HeadwayError", set()).update(names)
    real = {kind.__name__: {one.__name__ for one in OURS if one.__base__ is kind} for kind in OURS}
    assert drawn == {name: members for name, members in real.items() if members}
