"""Where in the JSON of a result a part of it stands, which code names as the result's type does."""

from typing import Any

from msgspec import inspect

_WITH_FIELDS = inspect.StructType | inspect.DataclassType | inspect.TypedDictType


def step(kind: Any, name: str | int) -> tuple[str | int, Any]:
    """The key or place of a part, and its type; AttributeError for a field that there is not.

    Of a type that says nothing about its parts, a name is the key.
    """
    info = _known(kind)
    if isinstance(info, _WITH_FIELDS):
        for field in info.fields:
            if name == field.name:
                return field.encode_name, field.type
        raise _no_field(info.cls, name)
    if isinstance(info, inspect.NamedTupleType):
        for place, field in enumerate(info.fields):
            if name in (place, field.name):
                return place, field.type
    if isinstance(info, inspect.CustomType) and hasattr(info.cls, "model_fields"):
        return _of_model(info.cls, name)
    if isinstance(info, inspect.ListType | inspect.VarTupleType) and isinstance(name, int):
        return name, info.item_type
    if isinstance(info, inspect.DictType):
        return name, info.value_type
    return name, Any


def _known(kind: Any) -> Any:
    """What is known of a type; of one that may also be None, what is known without that."""
    info = kind if isinstance(kind, inspect.Type) else inspect.type_info(kind)
    if isinstance(info, inspect.UnionType):
        some = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        return some[0] if len(some) == 1 else None
    return info


def _of_model(model: Any, name: str | int) -> tuple[str | int, Any]:
    """A field of a pydantic model, which is written under its alias."""
    field = model.model_fields.get(name)
    if field is None:
        if name in model.model_computed_fields or model.model_config.get("extra") == "allow":
            return name, Any
        raise _no_field(model, name)
    key = field.serialization_alias or field.alias or name
    try:
        return key, inspect.type_info(field.annotation)
    except TypeError:
        return key, Any


def _no_field(kind: type, name: str | int) -> AttributeError:
    return AttributeError(f"{kind.__name__} has no field {name!r}")
