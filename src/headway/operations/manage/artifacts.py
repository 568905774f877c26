"""Operations on custom artifacts."""

from headway.domain.answers import MarkerView
from headway.operations import paging
from headway.operations.bound import Call, serves
from headway.protocol import artifacts as protocol
from headway.protocol.operation import Nothing, Page, Paging
from headway.scheduler.manage import markers
from headway.storage.engine.transaction import Transaction


@serves(protocol.list_artifacts)
def list_artifacts(call: Call[Nothing, Paging], tx: Transaction) -> Page[MarkerView]:
    """List custom artifacts that are present, by name."""
    limit = paging.check_limit(call.query.limit)
    name = paging.read_cursor(call.query.cursor) or ""
    return paging.page(markers.after(tx, name, limit + 1), limit, lambda marker: marker.artifact)


@serves(protocol.get_artifact)
def get_artifact(call: Call[Nothing, Nothing], tx: Transaction) -> MarkerView:
    """Get one custom artifact, if it is present."""
    return markers.view(call.scheduler, tx, call.path["type"], call.path["key"])


@serves(protocol.put_artifact)
def put_artifact(call: Call[Nothing, Nothing], tx: Transaction) -> MarkerView:
    """Mark a custom artifact as present."""
    return markers.put(call.scheduler, tx, call.path["type"], call.path["key"])


@serves(protocol.delete_artifact)
def delete_artifact(call: Call[Nothing, Nothing], tx: Transaction) -> MarkerView:
    """Mark a custom artifact as missing."""
    return markers.remove(call.scheduler, tx, call.path["type"], call.path["key"])
