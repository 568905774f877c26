"""Calls that only a server can answer."""

from collections.abc import Mapping
from typing import Any

from headway.client.calls.call import Call, step
from headway.domain.answers import DashboardCode, DirectAnswer
from headway.domain.requests.job_requests import DirectBody
from headway.domain.reservations import WAIT_TIMEOUT_S


def run_direct(
    job_type: str, params: Mapping[str, Any] | None = None, wait_timeout_s: float = WAIT_TIMEOUT_S
) -> Call[DirectAnswer]:
    """Run a handler of the server's own worker in its next free slot, before the queue."""
    body = DirectBody(params=dict(params or {}), wait_timeout_s=wait_timeout_s)
    return Call(
        "POST",
        f"/api/direct/{step(job_type)}",
        DirectAnswer,
        body,
        safe_to_repeat=False,
        needs_server=True,
        takes_its_time=True,
    )


def create_dashboard_code() -> Call[DashboardCode]:
    """Get a code that lets a browser in once, as an admin."""
    return Call("POST", "/dashboard/codes", DashboardCode, safe_to_repeat=False, needs_server=True)
