"""What params take from results, without a store."""

import dataclasses
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest

from headway.domain import errors, taken
from headway.domain.taken import Taken, Value
from headway.domain.values import json_types

RESULT = {"title": "a", "lines": ["x", {"y": [1, 2]}], "0": "zero", "none": None}


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({}, ()),
        ({"a": {"b": "$result"}}, ()),
        ({"a": {"$result": "x"}}, (Taken(("a",), "x"),)),
        ({"a": {"$result": 7}}, (Taken(("a",), "7"),)),
        ({"a": {"$result": " ref:b ", "path": None}}, (Taken(("a",), "ref:b"),)),
        ({"a": {"$result": "x", "path": "b.0"}}, (Taken(("a",), "x", "b.0"),)),
        (
            {"a": [1, {"b": {"$result": "x"}}], "c": {"$result": "y"}},
            (Taken(("a", 1, "b"), "x"), Taken(("c",), "y")),
        ),
    ],
)
def test_results_are_found_wherever_they_stand(params: Any, found: tuple[Taken, ...]) -> None:
    assert taken.find(params) == taken.found(params) == found


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"$result": "x"}, "params.$result"),
        ({"a": {"$result": "x", "pth": "b"}}, "params.a"),
        ({"a": {"$result": True}}, "params.a.$result"),
        ({"a": {"$result": None}}, "params.a.$result"),
        ({"a": {"$result": " "}}, "params.a"),
        ({"a": {"$result": "x", "path": ""}}, "params.a"),
        ({"a": [{}, {"b": {"$result": "x", "path": 0}}]}, "params.a[1].b.path"),
    ],
)
def test_one_that_is_unclear_is_refused_with_its_place(params: Any, field: str) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        taken.find(params)
    assert list(refused.value.fields) == [field]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("title", "a"),
        ("lines.0", "x"),
        ("lines.-1.y.1", 2),
        ("0", "zero"),
        ("none", None),
    ],
)
def test_a_path_leads_through_keys_and_places(path: str, part: Any) -> None:
    assert taken.part(RESULT, path) == part


@pytest.mark.parametrize(
    "path", ["", "Title", "title.0", "lines.2", "lines.-3", "lines.x", "none.a", "lines.1.y.1.0"]
)
def test_a_path_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(taken.NoSuchPart):
        taken.part(RESULT, path)


def test_values_are_put_in_place_and_nothing_else_changes() -> None:
    params = {"a": [{"$result": "x"}, 2], "b": {"$result": "y"}, "c": 3}
    first, second = taken.find(params)
    assert taken.put(params, [(first, "one"), (second, None)]) == {
        "a": ["one", 2],
        "b": None,
        "c": 3,
    }
    assert params["b"] == {"$result": "y"}


@pytest.mark.parametrize(
    ("at", "text", "word"),
    [
        (("argv", 0), '"a"', '"a"'),
        (("argv", 0), "7", '"7"'),
        (("argv", 0), "true", '"true"'),
        (("argv", 0), "null", '""'),
        (("env", "X"), '{"a":1}', '"{\\"a\\":1}"'),
        (("stdin",), "[1]", '"[1]"'),
        (("stdin",), "null", "null"),
        (("argv",), '["a"]', '["a"]'),
        (("env",), '{"A":"b"}', '{"A":"b"}'),
    ],
)
def test_a_command_gets_text_where_a_program_takes_only_text(
    at: tuple[str | int, ...], text: str, word: str
) -> None:
    assert taken.as_word(Taken(at, "x"), text) == word


def test_a_command_is_shown_as_it_was_written() -> None:
    words = ["echo", 7, {"$result": "x", "path": "n"}]
    assert taken.as_typed(words) == ["echo", "7", '{"$result":"x","path":"n"}']


def test_a_value_names_its_part_and_is_sent_as_a_reference() -> None:
    value: Any = Value("ref:a")
    assert json_types.plain({"x": [value, value.lines[0], value["a b"].c[-1]]}) == {
        "x": [
            {"$result": "ref:a"},
            {"$result": "ref:a", "path": "lines.0"},
            {"$result": "ref:a", "path": "a b.c.-1"},
        ]
    }
    assert repr(value.lines) == "<the result of ref:a, lines>"


class Aliased(pydantic.BaseModel):
    price: int = pydantic.Field(alias="thePrice")


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str
    several: list[Aliased] | None


class Pair(NamedTuple):
    left: int
    right: Renamed


@dataclasses.dataclass
class Whole:
    pair: Pair
    words: dict[str, Pair]
    anything: Any = None


@pytest.mark.parametrize(
    ("of", "path"),
    [
        (lambda whole: whole.pair.right.first_name, "pair.1.firstName"),
        (lambda whole: whole.pair[1].several[-1].price, "pair.1.several.-1.thePrice"),
        (lambda whole: whole.words["a"].left, "words.a.0"),
        (lambda whole: whole.anything.goes, "anything.goes"),
    ],
)
def test_a_part_is_named_as_the_type_names_it(of: Any, path: str) -> None:
    assert json_types.plain(of(Value("a", kind=Whole))) == {"$result": "a", "path": path}


@pytest.mark.parametrize(
    "of", [lambda whole: whole.pear, lambda whole: whole.pair.right.several[0].thePrice]
)
def test_a_field_that_the_type_does_not_have_is_refused_at_once(of: Any) -> None:
    with pytest.raises(AttributeError, match=r"has no field '(pear|thePrice)'"):
        of(Value("a", kind=Whole))


@pytest.mark.parametrize(
    "use",
    [bool, list, str, len, int, "{}".format, lambda value: value + 1, lambda value: value.get("a")],
)
def test_nothing_can_be_done_with_a_value_that_is_not_known_yet(use: Any) -> None:
    with pytest.raises(TypeError, match="not known before that job has run"):
        use(Value("ref:a"))


def test_a_part_that_no_path_can_name_is_refused() -> None:
    value: Any = Value("ref:a")
    for step in ("a.b", ""):
        with pytest.raises(ValueError, match="path cannot say"):
            value[step]
    with pytest.raises(TypeError, match="neither the key nor the place"):
        value[1.5]
