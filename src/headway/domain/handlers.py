"""A handler is a Python function that does one type of job; its signature is the job's schema."""

import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Self

import msgspec

from headway.domain.errors import InvalidParams, InvalidResult, validation
from headway.domain.jobs import COMMAND
from headway.domain.retries import RetryRules
from headway.domain.values import json_types

Isolation = Literal["thread", "process"]
Function = Callable[..., Any]

Around = Callable[[Any], Any]
"""A generator function, plain or async, that takes the context and yields for the handler."""

_NO_EXTRAS = object()
NO_RULES = RetryRules()


class Handler(msgspec.Struct, frozen=True, kw_only=True):
    """A function and what has to be known to call it with a job's params."""

    job_type: str
    function: Function
    isolation: Isolation
    wants_ctx: bool
    is_async: bool
    schema: type[msgspec.Struct]
    extras: Any = _NO_EXTRAS
    returns: Any = Any
    rules: RetryRules = NO_RULES
    arounds: Sequence[Around] = ()
    """What the app has around each of its handlers, the outermost first."""

    @classmethod
    def of(
        cls,
        function: Function,
        job_type: str | None = None,
        isolation: Isolation = "thread",
        rules: RetryRules = NO_RULES,
        arounds: Sequence[Around] = (),
    ) -> Self:
        """Read a function's signature; a TypeError says what no job could ever fill."""
        name = _name_of(function, job_type)
        if isolation not in typing.get_args(Isolation):
            known = " or ".join(map(repr, typing.get_args(Isolation)))
            raise TypeError(f"handler {name!r}: isolation is {known}, not {isolation!r}")
        if isolation == "process":
            _refuse_local(function, name)
        parameters = list(inspect.signature(function).parameters.values())
        _refuse_method(function, name, parameters)
        _refuse_generator(function, name)
        wants_ctx = bool(parameters) and parameters[0].name == "ctx"
        fillable = parameters[1:] if wants_ctx else parameters
        hints = _hints(function, name)
        returns = hints.pop("return", Any)
        if wants_ctx:
            hints.pop("ctx", None)
        _refuse_unusable(name, returns, hints)
        extras = _extras(fillable, hints)
        return cls(
            job_type=name,
            function=function,
            isolation=isolation,
            wants_ctx=wants_ctx,
            is_async=inspect.iscoroutinefunction(function),
            schema=_schema(name, fillable, hints, is_open=extras is not _NO_EXTRAS),
            extras=extras,
            returns=returns,
            rules=rules,
            arounds=arounds,
        )

    @property
    def defaults(self) -> dict[str, Any]:
        """The params that may be left out, with what the function makes of that."""
        given = inspect.signature(self.function).parameters.items()
        return {name: one.default for name, one in given if one.default is not one.empty}

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Arguments of a call as params: by name, and as JSON can say them."""
        names = [
            name
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            and (name != "ctx" or not self.wants_ctx)
        ]
        if len(args) > len(names):
            raise TypeError(f"{self.job_type} takes {len(names)} arguments, not {len(args)}")
        params = {**dict(zip(names, args, strict=False)), **kwargs}
        try:
            plain: dict[str, Any] = json_types.plain(params)
        except TypeError as error:
            raise InvalidParams(self.job_type, "arguments", str(error)) from None
        return plain

    def check(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments for the function, converted to its types, or InvalidParams."""
        try:
            fitted = json_types.restore(params, self.schema)
        except msgspec.ValidationError as error:
            raise _invalid(self.job_type, error) from None
        if self.extras is _NO_EXTRAS:
            return {name: getattr(fitted, name) for name in params}
        known = self.schema.__struct_fields__
        return {
            name: getattr(fitted, name) if name in known else self._fitted(name, value, self.extras)
            for name, value in params.items()
        }

    def check_apart(self, params: Mapping[str, Any], later: Collection[str]) -> None:
        """Check params of which some are known only when the job starts: names, and the others."""
        try:
            msgspec.convert(params, _names_alone(self.schema))
        except msgspec.ValidationError as error:
            raise _invalid(self.job_type, error) from None
        kinds = {field.name: field.type for field in msgspec.structs.fields(self.schema)}
        for name, value in params.items():
            if name not in later:
                self._fitted(name, value, kinds.get(name, self.extras))

    def form(self) -> dict[str, Any]:
        """Its params as a JSON schema, with the defaults of the function."""
        (own,), parts = msgspec.json.schema_components(
            (self.schema,),
            schema_hook=lambda kind: {"title": kind.__name__},
            ref_template="#/$defs/{name}",
        )
        own = parts.pop(own["$ref"].rpartition("/")[2])
        known = inspect.signature(self.function).parameters
        properties = {
            name: _with_default(shape, known[name].default)
            for name, shape in own["properties"].items()
        }
        return {**own, "properties": properties, **({"$defs": parts} if parts else {})}

    def restore(self, result: Any) -> Any:
        """A result as the handler declares it, or InvalidResult; no result stays None."""
        if result is None or self.returns is Any:
            return result
        try:
            return json_types.restore(result, self.returns)
        except msgspec.ValidationError as error:
            raise InvalidResult(self.job_type, str(error)) from None

    def _fitted(self, name: str, value: Any, kind: Any) -> Any:
        try:
            return json_types.restore(value, kind)
        except msgspec.ValidationError as error:
            raise _invalid(self.job_type, error, within=name) from None


def returned_by(function: Function) -> Any:
    """The type that a function declares to return; Any if no result could be restored to it."""
    try:
        returns = _hints(function, "").get("return", Any)
        json_types.refuse_unusable(returns)
    except TypeError:
        return Any
    return returns


class CommandParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `command` job is given; an empty `argv` is accepted and fails when it runs."""

    argv: list[str] | None = None
    cwd: str | None = None
    env: dict[str, str] | None = None
    secret_env: dict[str, str] | None = None
    stdin: str | None = None

    @classmethod
    def check(cls, params: Mapping[str, Any]) -> Self:
        """The params of a command, or InvalidParams."""
        try:
            return msgspec.convert(params, cls)
        except msgspec.ValidationError as error:
            raise _invalid("command", error) from None

    @classmethod
    def check_apart(cls, params: Mapping[str, Any], later: Collection[str]) -> Self:
        """Check params of which some are known only when the command starts."""
        known = cls.__struct_fields__
        return cls.check(
            {name: one for name, one in params.items() if name not in later or name not in known}
        )


def _with_default(shape: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """A property of a schema with the function's own default, if JSON can say it."""
    plain = {name: value for name, value in shape.items() if name != "default"}
    if default is inspect.Parameter.empty:
        return plain
    try:
        return {**plain, "default": json_types.plain(default)}
    except TypeError:
        return plain


def _name_of(function: Function, job_type: str | None) -> str:
    name: str | None = job_type or getattr(function, "__name__", None)
    if name is None:
        raise TypeError(f"{function!r} has no name: give its job type with name=…")
    if name == COMMAND:
        raise TypeError(f"{name!r} is the job type of commands; give this handler another name")
    return name


def _refuse_local(function: Function, name: str) -> None:
    if "<" in function.__qualname__:
        raise TypeError(
            f"handler {name!r} runs in a process of its own, which could not find it: "
            "define it at the top level of a module"
        )


def _refuse_method(function: Function, name: str, parameters: Sequence[inspect.Parameter]) -> None:
    if inspect.isclass(function):
        raise TypeError(
            f"handler {name!r} is a class, and its objects are no results: "
            "make it a plain function that returns what it made"
        )
    if inspect.ismethod(function) or (parameters and parameters[0].name in ("self", "cls")):
        raise TypeError(
            f"handler {name!r} is a method, and a job has no object to call it on: "
            "make it a plain function that takes what it needs as params"
        )


def _refuse_generator(function: Function, name: str) -> None:
    plain = inspect.unwrap(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise TypeError(
            f"handler {name!r} is a generator, and a job has one result: "
            "return it whole, for example as a list"
        )


def _hints(function: Function, name: str) -> dict[str, Any]:
    annotated = inspect.unwrap(function)
    annotations = dict(getattr(annotated, "__annotations__", {}))
    holder = types.SimpleNamespace(__annotations__=annotations)
    names = getattr(annotated, "__globals__", {})
    try:
        hints = typing.get_type_hints(holder, globalns=names, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"handler {name!r}: an annotation cannot be read: {error}; "
            "a type that only the type checker imports is not there when the job runs"
        ) from error
    return {parameter: json_types.readable(hint) for parameter, hint in hints.items()}


def _refuse_unusable(name: str, returns: Any, hints: Mapping[str, Any]) -> None:
    """Refuse what could be declared and never be submitted, or never come back."""
    for parameter, hint in hints.items():
        try:
            json_types.refuse_unusable(hint)
        except TypeError as error:
            raise TypeError(f"handler {name!r}: parameter {parameter!r}: {error}") from error
    try:
        json_types.refuse_unusable(returns)
    except TypeError as error:
        raise TypeError(f"handler {name!r}: what it returns: {error}") from error


def _extras(parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any]) -> Any:
    """The type of what `**kwargs` takes, if there is one."""
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            return hints.get(parameter.name, Any)
    return _NO_EXTRAS


def _schema(
    name: str,
    parameters: Sequence[inspect.Parameter],
    hints: Mapping[str, Any],
    *,
    is_open: bool,
) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f"handler {name!r}: params are passed by name, "
                f"{parameter.name!r} must not be positional-only"
            )
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(
                f"handler {name!r}: params are passed by name, there can be no *{parameter.name}"
            )
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        hint = hints.get(parameter.name, Any)
        is_required = parameter.default is parameter.empty
        # The function itself fills in its defaults, so the schema only needs to know there is one.
        fields.append((parameter.name, hint) if is_required else (parameter.name, hint, None))
    schema = msgspec.defstruct("Params", fields, kw_only=True, forbid_unknown_fields=not is_open)
    try:
        msgspec.json.Decoder(schema)
    except TypeError as error:
        raise TypeError(f"handler {name!r}: {error}") from error
    return schema


@cache
def _names_alone(schema: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The schema with values of any type."""
    fields = [
        (field.name, Any) if field.required else (field.name, Any, None)
        for field in msgspec.structs.fields(schema)
    ]
    is_open = not schema.__struct_config__.forbid_unknown_fields
    return msgspec.defstruct("Params", fields, kw_only=True, forbid_unknown_fields=not is_open)


def _invalid(job_type: str, error: msgspec.ValidationError, within: str = "") -> InvalidParams:
    problem = validation.read(error, within)
    return InvalidParams(job_type, problem.field, problem.text, expects=problem.expects)
