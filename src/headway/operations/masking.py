"""What callers below `admin` see of secret params: a mask."""

import re
from collections.abc import Hashable
from functools import cache
from typing import Any, cast

import msgspec

from headway.domain import secrets
from headway.domain.jobs import Job
from headway.domain.manage.schedules import Schedule
from headway.domain.manage.templates import Template
from headway.domain.manage.tokens import Principal, Role
from headway.domain.runs import Run
from headway.domain.steps import Step
from headway.protocol.operation import Operation

PARAMS: dict[type, str] = {
    Job: "params",
    Template: "params",
    Schedule: "params",
    Run: "params_snapshot",
    Step: "result",
}
"""The field with params of each kind of answer that has one; payloads of signals are params too."""


def is_needed(operation: Operation[Any, Any, Any], principal: Principal) -> bool:
    """Whether secrets are hidden from this caller; a worker gets the params of its jobs whole."""
    return (
        not principal.may(Role.ADMIN)
        and operation.role is not Role.WORK
        and has_params(cast(Hashable, operation.answer))
    )


def masked(value: Any, names: re.Pattern[str]) -> Any:
    """An answer with a mask for each secret param in it."""
    field = PARAMS.get(type(value))
    if field is not None:
        return _with_masked_params(value, field, names)
    if isinstance(value, list | tuple):
        return [masked(one, names) for one in value]
    if isinstance(value, msgspec.Struct):
        inner = {name: getattr(value, name) for name in value.__struct_fields__}
        return msgspec.structs.replace(
            value, **{name: masked(one, names) for name, one in inner.items() if _is_nested(one)}
        )
    return value


def _with_masked_params(value: Any, field: str, names: re.Pattern[str]) -> Any:
    params = getattr(value, field)
    shown = secrets.masked(params, names)
    return value if shown is params else msgspec.structs.replace(value, **{field: shown})


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | msgspec.Struct)


@cache
def has_params(answer: Any) -> bool:
    """Whether an answer of this type may hold params."""
    return _has_params(msgspec.inspect.type_info(answer), set())


def _has_params(info: Any, seen: set[type]) -> bool:
    if isinstance(info, msgspec.inspect.StructType):
        if info.cls in PARAMS:
            return True
        if info.cls in seen:
            return False
        seen.add(info.cls)
        return any(_has_params(field.type, seen) for field in info.fields)
    inner = getattr(info, "types", None) or (getattr(info, "item_type", None),)
    return any(_has_params(one, seen) for one in inner if isinstance(one, msgspec.inspect.Type))
