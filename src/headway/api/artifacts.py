"""Operations on custom artifacts."""

from typing import Any

from headway.api import paging
from headway.api.operation import Call, Nothing, Page, Paging, operation
from headway.domain.answers import MarkerView
from headway.domain.tokens import Role
from headway.scheduler.manage import markers

ONE = "/api/artifacts/custom/{type}/{key}"


@operation("GET", "/api/artifacts", Role.READ, query=Paging, answer=Page[MarkerView])
def list_artifacts(call: Call[Nothing, Paging]) -> Page[MarkerView]:
    """List custom artifacts that are present, by name."""
    limit = paging.check_limit(call.query.limit)
    name = paging.read_cursor(call.query.cursor) or ""
    found = call.scheduler.store.read(lambda tx: markers.after(tx, name, limit + 1))
    return paging.page(found, limit, lambda marker: marker.artifact)


@operation("GET", ONE, Role.READ, answer=MarkerView)
def get_artifact(call: Call[Nothing, Nothing]) -> MarkerView:
    """Get one custom artifact, if it is present."""
    return call.scheduler.store.read(
        lambda tx: markers.view(call.scheduler, tx, call.path["type"], call.path["key"])
    )


@operation("PUT", ONE, Role.SUBMIT, answer=MarkerView)
def put_artifact(call: Call[Nothing, Nothing]) -> Any:
    """Mark a custom artifact as present."""
    return call.change(
        lambda tx: markers.put(call.scheduler, tx, call.path["type"], call.path["key"])
    )


@operation("DELETE", ONE, Role.SUBMIT, answer=MarkerView)
def delete_artifact(call: Call[Nothing, Nothing]) -> Any:
    """Mark a custom artifact as missing."""
    return call.change(
        lambda tx: markers.remove(call.scheduler, tx, call.path["type"], call.path["key"])
    )
