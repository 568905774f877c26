"""When a lease is renewed, when its work must stop, and when it must not."""

from pathlib import Path

import pytest
from tests.worker.executor_helpers import make_work

from headway.worker.context import JobContext
from headway.worker.lease_keeper import Held, margin


def held(ttl_s: float = 30.0, cancel: str | None = None) -> Held:
    """A lease that was renewed at the moment 100."""
    made = Held(
        "lease",
        ttl_s,
        expires=0,
        renew_at=0,
        ctx=JobContext(make_work(Path(), "work")),
        cancel=cancel,
    )
    made.prolong(100.0)
    return made


def test_a_lease_is_renewed_at_a_third_of_its_time() -> None:
    assert held(30.0).renew_at == 110.0


@pytest.mark.parametrize("ttl_s", [0.3, 3.0, 30.0, 3600.0])
def test_work_is_stopped_before_its_lease_is_over(ttl_s: float) -> None:
    one = held(ttl_s)
    assert one.expires == 100.0 + ttl_s
    assert one.renew_at < one.fence_at < one.expires
    assert margin(ttl_s) == min(3.0, ttl_s / 3)


def test_a_plain_cancel_interrupts_nothing() -> None:
    assert not held(cancel="asked").must_stop
    assert held(cancel="forced").must_stop
