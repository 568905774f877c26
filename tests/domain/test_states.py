"""The one table of legal moves."""

import pytest

from headway.domain import states
from headway.domain.states import JobStatus


def test_every_status_is_active_or_terminal_and_has_a_meaning() -> None:
    assert set(JobStatus) == states.ACTIVE | states.TERMINAL
    assert not states.ACTIVE & states.TERMINAL
    assert set(states.MEANING) == set(states.MOVES) == set(JobStatus)


def test_a_running_job_never_goes_back_to_the_queue() -> None:
    assert states.MOVES[states.RUNNING] <= states.TERMINAL | {states.SUSPENDED}


def test_a_terminal_job_is_only_ever_rewound() -> None:
    for status in states.TERMINAL:
        assert states.MOVES[status] == {states.QUEUED}


@pytest.mark.parametrize(
    ("status", "target"),
    [
        (states.QUEUED, states.RUNNING),
        (states.QUEUED, states.CLAIMED),
        (states.CLAIMED, states.PREPARING),
        (states.PREPARING, states.LEASE_PENDING),
        (states.LEASE_PENDING, states.RUNNING),
        (states.CLAIMED, states.QUEUED),
        (states.WAITING_ON_DEPS, states.BLOCKED_BY_DEPENDENCY),
        (states.WAITING_ON_APPROVAL, states.BLOCKED_BY_APPROVAL),
        (states.RUNNING, states.TIMEOUT),
    ],
)
def test_these_moves_are_legal(status: JobStatus, target: JobStatus) -> None:
    assert states.allows(status, target)


@pytest.mark.parametrize("waiting", sorted(states.WAITING - {states.QUEUED}))
def test_a_job_with_a_closed_gate_does_not_start(waiting: JobStatus) -> None:
    assert not states.allows(waiting, states.RUNNING)
    assert not states.allows(waiting, states.CLAIMED)


@pytest.mark.parametrize("text", ["cancelled", "CANCELED", " Cancelled ", "canceled"])
def test_status_words_are_read_in_any_case(text: str) -> None:
    assert states.read(text) is states.CANCELLED
