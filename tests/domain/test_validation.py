"""The text of a msgspec ValidationError as values, and errors that carry facts for programs."""

from typing import Any

import msgspec
import pytest

from headway.domain import errors
from headway.domain.errors import validation
from headway.domain.errors.validation import Problem
from headway.domain.handlers import Handler


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    key: str


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    inner: list[Inner] = []
    count: int = 0


CASES: list[tuple[Any, str, Problem]] = [
    ({"count": "x"}, "", Problem("count", "Expected `int`, got `str`", expects="int")),
    (
        {"inner": [{"key": 5}]},
        "",
        Problem("inner[0].key", "Expected `str`, got `int`", expects="str"),
    ),
    (
        {"inner": [{}]},
        "",
        Problem("inner[0]", "Object missing required field `key`", named="key"),
    ),
    ({"x": 1}, "", Problem("", "Object contains unknown field `x`", named="x")),
    (
        {"count": "x"},
        "jobs[3]",
        Problem("jobs[3].count", "Expected `int`, got `str`", expects="int"),
    ),
    ([], "jobs[3]", Problem("jobs[3]", "Expected `object`, got `array`", expects="object")),
]


@pytest.mark.parametrize(("value", "within", "expected"), CASES)
def test_a_validation_error_says_where_what_and_which_type(
    value: Any, within: str, expected: Problem
) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(value, Outer)
    assert validation.read(raised.value, within) == expected


def test_params_of_the_wrong_type_say_which_type_was_expected() -> None:
    def story(genre: str) -> None: ...

    with pytest.raises(errors.InvalidParams) as raised:
        Handler.of(story).check({"genre": 5})
    assert raised.value.expects == "str"
    assert raised.value.fields == {"params.genre": "Expected `str`, got `int`"}


def test_facts_of_an_error_survive_the_way_over_http() -> None:
    refused = errors.RewindRefused.without_force("7")
    revived = errors.revive(refused.code, refused.detail, 409, facts={"succeeded": "7"})
    assert isinstance(revived, errors.RewindRefused)
    assert revived.succeeded == "7"
    older = errors.revive(refused.code, refused.detail, 409)
    assert isinstance(older, errors.RewindRefused)
    assert older.succeeded is None
