"""Objects are checked by their text; only one that is refused is walked."""

import math
import time
from typing import Any

import pytest

from headway.domain import errors
from headway.domain.values import plain_json

MIB = 1024 * 1024


def nested(levels: int) -> Any:
    """A list in a list, so many times."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        {"a": "\0"},
        {"\0": 1},
        {"a": ["\\", "\\\0"]},
        {"a": math.nan},
        {"a": [None, -math.inf]},
        {"a": "\ud800"},
        {"a": nested(100)},
        {"a": nested(2000)},
    ],
)
def test_what_the_walk_refuses_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        plain_json.refuse_nonsense(value, "params")
    with pytest.raises(errors.InvalidRequest):
        plain_json.checked(value, "params", MIB)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": "\\u0000"},
        {"a": "\\\\u0000"},
        {"a": None, "b": 1.5, "c": "null"},
        {"a": nested(99)},
        {"a": "[" * 500 + '"' + "{" * 500},
        {"a": [[]] * 500},
    ],
)
def test_what_the_walk_takes_is_taken(value: dict[str, Any]) -> None:
    plain_json.refuse_nonsense(value, "params")
    assert plain_json.checked(value, "params", MIB) == value


def test_an_object_that_is_too_large_is_refused() -> None:
    with pytest.raises(errors.TooLarge):
        plain_json.checked({"a": "x" * 100}, "params", 100)


def test_a_megabyte_of_small_values_is_not_walked() -> None:
    value = {"a": [0] * 400_000}
    began = time.process_time()
    plain_json.checked(value, "params", MIB)
    assert time.process_time() - began < 0.1
