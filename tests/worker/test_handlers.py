"""A handler's signature is the schema of its params."""

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import msgspec
import pytest

from headway.domain.errors import InvalidParams
from headway.domain.handlers import CommandParams, Handler


class Chapter(msgspec.Struct):
    title: str
    pages: int


class Note(msgspec.Struct):
    title: str


def story(genre: str, length: int = 1200, tags: list[str] | None = None) -> str:
    return f"{genre} {length} {tags}"


def book(chapters: list[Chapter]) -> None: ...


def free(anything, more=None):  # type: ignore[no-untyped-def]
    return anything


def later(when: "Annotated[int, msgspec.Meta(ge=0)]") -> "Chapter | None": ...


def with_context(ctx: Any, genre: str) -> None: ...


def with_late_context(genre: str, ctx: str) -> None: ...


def open_ended(genre: str, **rest: Any) -> None: ...


def open_numbers(**numbers: int) -> None: ...


def open_chapters(**chapters: Chapter) -> None: ...


async def waiting(seconds: float) -> None: ...


def refused(handler: Handler, params: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidParams) as caught:
        handler.check(params)
    return caught.value.fields


def test_params_that_fit_become_arguments() -> None:
    assert Handler.of(story).check({"genre": "horror"}) == {"genre": "horror"}


def test_params_are_converted_to_the_annotated_types() -> None:
    checked = Handler.of(book).check({"chapters": [{"title": "One", "pages": 3}]})
    assert checked == {"chapters": [Chapter("One", 3)]}


def test_a_missing_param_is_named() -> None:
    assert refused(Handler.of(story), {}) == {
        "params.genre": "Object missing required field `genre`"
    }


def test_an_unknown_param_is_named() -> None:
    fields = refused(Handler.of(story), {"genre": "horror", "colour": "red"})
    assert fields == {"params.colour": "Object contains unknown field `colour`"}


def test_a_param_of_the_wrong_type_is_named() -> None:
    fields = refused(Handler.of(story), {"genre": "horror", "length": "long"})
    assert fields == {"params.length": "Expected `int`, got `str`"}


def test_a_problem_deep_inside_a_param_is_located() -> None:
    fields = refused(Handler.of(book), {"chapters": [{"title": "One"}]})
    assert list(fields) == ["params.chapters[0].pages"]
    fields = refused(Handler.of(open_chapters), {"first": {"title": "One"}})
    assert list(fields) == ["params.first.pages"]


def test_a_parameter_without_annotation_takes_anything() -> None:
    assert Handler.of(free).check({"anything": [1, "a"]}) == {"anything": [1, "a"]}


def test_annotations_may_be_text_and_carry_limits() -> None:
    handler = Handler.of(later)
    assert handler.check({"when": 1}) == {"when": 1}
    assert list(refused(handler, {"when": -1})) == ["params.when"]


def test_a_first_parameter_named_ctx_is_no_param() -> None:
    handler = Handler.of(with_context)
    assert handler.wants_ctx
    assert handler.check({"genre": "horror"}) == {"genre": "horror"}
    assert list(refused(handler, {"genre": "horror", "ctx": 1})) == ["params.ctx"]


def test_a_later_parameter_named_ctx_is_a_param_like_any_other() -> None:
    handler = Handler.of(with_late_context)
    assert not handler.wants_ctx
    assert handler.check({"genre": "a", "ctx": "b"}) == {"genre": "a", "ctx": "b"}


def test_a_handler_with_keyword_arguments_takes_any_param() -> None:
    handler = Handler.of(open_ended)
    assert handler.check({"genre": "a", "x": [1]}) == {"genre": "a", "x": [1]}
    assert list(refused(handler, {"x": 1})) == ["params.genre"]


def test_typed_keyword_arguments_are_checked_too() -> None:
    handler = Handler.of(open_numbers)
    assert handler.check({"a": 1}) == {"a": 1}
    assert list(refused(handler, {"a": 1, "b": "two"})) == ["params.b"]


def test_positional_only_parameters_are_refused_at_definition() -> None:
    def old(genre: str, /) -> None: ...

    with pytest.raises(TypeError, match="'genre' must not be positional-only"):
        Handler.of(old)


def test_a_type_that_no_params_can_fit_is_refused_at_definition() -> None:
    def unclear(thing: Chapter | Note) -> None: ...

    with pytest.raises(TypeError, match="handler 'unclear'"):
        Handler.of(unclear)


def test_an_annotation_that_cannot_be_read_is_refused_at_definition() -> None:
    def lost(thing: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def vague() -> "Missing": ...  # type: ignore[name-defined]  # noqa: F821

    for function in (lost, vague):
        with pytest.raises(TypeError, match=f"handler '{function.__name__}': an annotation"):
            Handler.of(function)


def test_a_process_handler_must_be_at_the_top_of_a_module() -> None:
    def inner() -> None: ...

    with pytest.raises(TypeError, match="top level of a module"):
        Handler.of(inner, isolation="process")


def test_the_job_type_is_the_name_of_the_function_unless_given() -> None:
    assert Handler.of(story).job_type == "story"
    assert Handler.of(story, "tale").job_type == "tale"


def test_async_functions_are_known() -> None:
    assert Handler.of(waiting).is_async
    assert not Handler.of(story).is_async


def test_a_command_without_argv_is_accepted() -> None:
    assert CommandParams.check({}).argv is None
    assert CommandParams.check({"argv": []}).argv == []


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"argv": "ls -l"}, "params.argv"),
        ({"argv": ["ls", 1]}, "params.argv[1]"),
        ({"argv": ["ls"], "env": {"A": 1}}, "params.env[...]"),
        ({"argv": ["ls"], "shell": True}, "params.shell"),
    ],
)
def test_a_command_with_a_wrong_type_is_refused(params: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        CommandParams.check(params)
    assert list(caught.value.fields) == [field]


def test_a_handler_of_any_number_of_arguments_is_refused() -> None:
    def anything(*words: str, **rest: Any) -> None: ...

    with pytest.raises(TypeError, match=r"there can be no \*words"):
        Handler.of(anything)


def test_arguments_by_place_fill_only_what_has_a_place() -> None:
    with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
        Handler.of(open_ended).bind("horror", "more")


class Press:
    def print_it(self, genre: str) -> None: ...

    @classmethod
    def make(cls, genre: str) -> None: ...


def test_a_method_is_refused_at_definition() -> None:
    for method in (Press.print_it, Press().print_it, Press.make):
        with pytest.raises(TypeError, match="is a method, and a job has no object"):
            Handler.of(method)


def test_a_generator_is_refused_at_definition() -> None:
    def pages() -> Iterator[str]:
        yield "one"

    async def later_pages() -> AsyncIterator[str]:
        yield "one"

    for generator in (pages, later_pages):
        with pytest.raises(TypeError, match="is a generator, and a job has one result"):
            Handler.of(generator)


def test_a_class_that_json_cannot_restore_is_refused_at_definition() -> None:
    def takes(press: list[Press]) -> None: ...

    def returns() -> dict[str, Press]:
        return {}

    def unclear() -> Chapter | Note:
        return Note("a")

    with pytest.raises(TypeError, match=r"parameter 'press': \S+\.Press cannot be restored"):
        Handler.of(takes)
    with pytest.raises(TypeError, match=r"what it returns: \S+\.Press cannot be restored"):
        Handler.of(returns)
    with pytest.raises(TypeError, match=r"'unclear': what it returns: .* is not supported"):
        Handler.of(unclear)


def test_a_class_is_refused_at_definition() -> None:
    with pytest.raises(TypeError, match="'Press' is a class, and its objects are no results"):
        Handler.of(Press)


def test_what_has_no_name_and_what_has_that_of_commands_is_refused() -> None:
    with pytest.raises(TypeError, match=r"has no name: give its job type with name="):
        Handler.of(functools.partial(int, "1"))
    with pytest.raises(TypeError, match="'command' is the job type of commands"):
        Handler.of(lambda: None, job_type="command")
