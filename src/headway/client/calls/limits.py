"""Calls about limits, locks and custom artifacts."""

from headway.api.limits import LimitBody
from headway.api.operation import Page, Paging
from headway.client.calls.call import Call, step, words
from headway.domain.answers import LimitView, LockView, MarkerView


def list_limits() -> Call[Page[LimitView]]:
    """List limits and how much of each is in use."""
    return Call("GET", "/api/limits", Page[LimitView])


def get_limit(name: str) -> Call[LimitView]:
    """Get one limit."""
    return Call("GET", f"/api/limits/{step(name)}", LimitView)


def put_limit(name: str, *, size: int | None = None, rate: str | None = None) -> Call[LimitView]:
    """Define or change a limit."""
    return Call("PUT", f"/api/limits/{step(name)}", LimitView, LimitBody(size=size, rate=rate))


def delete_limit(name: str) -> Call[LimitView]:
    """Remove a limit."""
    return Call("DELETE", f"/api/limits/{step(name)}", LimitView, safe_to_repeat=False)


def list_locks() -> Call[Page[LockView]]:
    """List locks that are held or waited for."""
    return Call("GET", "/api/locks", Page[LockView])


def list_artifacts(paging: Paging | None = None) -> Call[Page[MarkerView]]:
    """List custom artifacts that are present, by name."""
    return Call("GET", "/api/artifacts", Page[MarkerView], query=words(paging))


def get_artifact(kind: str, key: str) -> Call[MarkerView]:
    """One custom artifact."""
    return Call("GET", _artifact(kind, key), MarkerView)


def put_artifact(kind: str, key: str) -> Call[MarkerView]:
    """Mark a custom artifact as present."""
    return Call("PUT", _artifact(kind, key), MarkerView)


def delete_artifact(kind: str, key: str) -> Call[MarkerView]:
    """Mark a custom artifact as missing."""
    return Call("DELETE", _artifact(kind, key), MarkerView, safe_to_repeat=False)


def _artifact(kind: str, key: str) -> str:
    return f"/api/artifacts/custom/{step(kind)}/{step(key)}"
