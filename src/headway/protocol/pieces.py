"""Large bodies, read piece by piece: in between, other threads get their turn."""

from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from headway.domain import errors

LARGE = 64 * 1024
"""From so many bytes on a body is not read on the event loop."""


def decode(raw: bytes, kind: Any) -> Any:
    """A body as a type. The items of its list are read one by one, if there is one."""
    name, item = _list_of(kind)
    if len(raw) <= LARGE or name is None:
        return msgspec.json.decode(raw, type=kind)
    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    if not bytes(fields.get(name, b"")).startswith(b"["):
        return msgspec.json.decode(raw, type=kind)
    parts = msgspec.json.decode(fields[name], type=list[msgspec.Raw])
    rest = msgspec.json.encode({**fields, name: []})
    body = msgspec.json.decode(rest, type=kind)
    decoder = msgspec.json.Decoder(item)
    items = [_item(decoder, part, f"{name}[{place}]") for place, part in enumerate(parts)]
    return msgspec.structs.replace(body, **{name: items})


@cache
def _list_of(kind: Any) -> tuple[str | None, Any]:
    """The first field that is a list of structs, and of which."""
    for field in msgspec.structs.fields(kind) if _is_struct(kind) else ():
        kinds = get_args(field.type)
        if get_origin(field.type) is list and kinds and _is_struct(kinds[0]):
            return field.name, kinds[0]
    return None, None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _item(decoder: "msgspec.json.Decoder[Any]", part: msgspec.Raw, place: str) -> Any:
    try:
        return decoder.decode(part)
    except msgspec.ValidationError as error:
        raise errors.from_validation(error, within=place) from None
