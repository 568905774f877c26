"""What params take from the results of other jobs: `{"$result": job, "path": "a.b.0"}`.

The job is an id, a number or a `ref:` of the same batch. The path leads into the result: a step is
the key of an object, or a place in a list, counted from 0, or from the end with a minus.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from headway.domain import errors

KEY = "$result"
MARK = b'"$result"'
"""In the JSON of params that take something; others may have it too, as a text."""

_PLACE = re.compile(r"-?\d{1,18}")


class Taken(msgspec.Struct, frozen=True, gc=False):
    """A place in params, and what is to stand there: the result of a job, or a part of it."""

    at: tuple[str | int, ...]
    job: str
    path: str | None = None

    @property
    def name(self) -> str:
        """The param that it is in."""
        return str(self.at[0])

    @property
    def field(self) -> str:
        """The place, as an error names it."""
        return _field("params", self.at)


class NoSuchPart(Exception):
    """A result has nothing at a path; or there is no result."""


class _Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    job: str | int = msgspec.field(name=KEY)
    path: str | None = None


def find(params: Mapping[str, Any], field: str = "params") -> tuple[Taken, ...]:
    """Everything that params take from results, in their order, or InvalidRequest."""
    if KEY in params:
        raise errors.InvalidRequest(
            f"{field}.{KEY}", "not the params as a whole are taken from a result, but one of them"
        )
    return tuple(_read(at, words, field) for at, words in _walk(params))


def found(params: Mapping[str, Any]) -> tuple[Taken, ...]:
    """Like `find`, for params that may be large: the text of most says that they take nothing."""
    try:
        text = msgspec.json.encode(params)
    except (UnicodeEncodeError, RecursionError):
        return ()  # it is refused for that
    return find(params) if MARK in text else ()


def _walk(params: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), params)]
    while waiting:
        at, value = waiting.pop()
        if isinstance(value, dict) and KEY in value:
            yield at, value
            continue
        items = value.items() if isinstance(value, dict) else enumerate(value)
        inner = [((*at, step), one) for step, one in items if isinstance(one, dict | list | tuple)]
        waiting.extend(reversed(inner))


def _read(at: tuple[str | int, ...], value: Any, field: str) -> Taken:
    where = _field(field, at)
    try:
        words = msgspec.convert(value, _Words)
    except msgspec.ValidationError as error:
        raise errors.from_validation(error, where) from None
    job = str(words.job).strip()
    if not job:
        raise errors.InvalidRequest(where, "an id is empty")
    if words.path == "":
        raise errors.InvalidRequest(where, "the path is empty; leave it out for the whole result")
    return Taken(at, job, words.path)


def _field(field: str, at: Sequence[str | int]) -> str:
    return field + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)


def written(job: str, path: str | None = None) -> dict[str, str]:
    """A reference as it is sent and stored."""
    return {KEY: job} if path is None else {KEY: job, "path": path}


def part(result: Any, path: str) -> Any:
    """What a result has at a path, or NoSuchPart."""
    for step in path.split("."):
        if isinstance(result, dict) and step in result:
            result = result[step]
        elif isinstance(result, list) and _PLACE.fullmatch(step) and _has(result, int(step)):
            result = result[int(step)]
        else:
            raise NoSuchPart
    return result


def _has(items: Sequence[Any], place: int) -> bool:
    return -len(items) <= place < len(items)


def as_word(one: Taken, text: str) -> str:
    """What a command gets, from the JSON of a result: a program takes only text.

    An argument, a variable, the folder and the input are text: anything else is written as its
    JSON, and nothing as an empty word. Taken as a whole, `argv` and `env` are what they are.
    """
    if len(one.at) == 1 and one.at[0] not in ("cwd", "stdin"):
        return text
    if text.startswith('"') or (text == "null" and len(one.at) == 1):
        return text
    return msgspec.json.encode("" if text == "null" else text).decode()


def as_typed(argv: Sequence[Any]) -> list[str]:
    """The words of a command as they are shown: what stands for a result, as it is written."""
    return [
        msgspec.json.encode(one).decode() if isinstance(one, dict) else str(one) for one in argv
    ]


def put(params: Mapping[str, Any], values: Sequence[tuple[Taken, Any]]) -> dict[str, Any]:
    """The params with a value at each place; what is given is left as it is."""
    if not values:
        return dict(params)
    whole: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(params))
    for one, value in values:
        inner: Any = whole
        for step in one.at[:-1]:
            inner = inner[step]
        inner[one.at[-1]] = value
    return whole


class Value:
    """The result of a job that has still to run, or a part of it, for the params of another one.

    A part is named as in the result itself: `page.value.title`, `page.value["lines"][0]`. Nothing
    else can be done with it: what it is will be known when the job has run. `kind` is its type.
    """

    __slots__ = ("_job", "_kind", "_path")

    def __init__(self, job: str, path: str | None = None, kind: Any = Any) -> None:
        self._job = job
        self._path = path
        self._kind = kind

    def __getattr__(self, name: str) -> "Value":
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, step: str | int) -> "Value":
        if not isinstance(step, str | int) or isinstance(step, bool):
            raise TypeError(f"{step!r} is neither the key nor the place of a part of a result")
        # Loaded here: most programs name no part of a result.
        from headway.domain.values import result_parts

        key, kind = result_parts.step(self._kind, step)
        if key == "" or "." in str(key):
            raise ValueError(f"a path cannot say the key {key!r}: pass the whole and look in it")
        return Value(self._job, str(key) if self._path is None else f"{self._path}.{key}", kind)

    def __repr__(self) -> str:
        part = f", {self._path}" if self._path is not None else ""
        return f"<the result of {self._job}{part}>"

    def _unknown(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            f"{self!r} is not known before that job has run: pass it to a job as a param of its own"
        )

    __str__ = __format__ = __bool__ = __iter__ = __len__ = __contains__ = __call__ = _unknown
    __int__ = __float__ = __index__ = __add__ = __radd__ = __lt__ = __gt__ = __le__ = _unknown
    __ge__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __mod__ = _unknown


def reference(value: Value) -> dict[str, str]:
    """A value as it is sent."""
    return written(value._job, value._path)
