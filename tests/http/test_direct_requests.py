"""What a direct request brings is checked beside the event loop."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headway.domain import errors
from headway.domain.manage.tokens import Principal
from headway.domain.requests.job_requests import DirectBody
from headway.http.direct_requests import DirectRequests


class Handler:
    """Refuses everything, and knows in which thread."""

    def __init__(self) -> None:
        self.asked_in: threading.Thread | None = None

    def check(self, params: object) -> None:
        self.asked_in = threading.current_thread()
        raise errors.InvalidRequest("params", "they never fit")


def test_params_are_checked_beside_the_event_loop() -> None:
    handler = Handler()
    scheduler: Any = SimpleNamespace(handlers={"story": handler})
    requests = DirectRequests(scheduler, cast(Any, object()))
    with pytest.raises(errors.InvalidRequest):
        asyncio.run(requests.run(cast(Principal, None), "story", DirectBody()))
    assert handler.asked_in is not None
    assert handler.asked_in is not threading.current_thread()


def test_a_direct_request_takes_no_results_of_jobs() -> None:
    scheduler: Any = SimpleNamespace(handlers={"story": Handler()})
    requests = DirectRequests(scheduler, cast(Any, object()))
    body = DirectBody(params={"pages": [{"$result": 1}]})
    with pytest.raises(errors.InvalidRequest, match="waits for no job") as refused:
        asyncio.run(requests.run(cast(Principal, None), "story", body))
    assert list(refused.value.fields) == ["params.pages[0]"]
