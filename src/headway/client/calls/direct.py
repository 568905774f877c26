"""The call that takes the next slot."""

from collections.abc import Mapping
from typing import Any

from headway.client.calls.call import Call, step
from headway.domain.answers import DirectAnswer
from headway.domain.requests import DirectBody
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
    )
