"""The status of a group follows from its members."""

import pytest

from headway.domain import states
from headway.domain.manage import groups
from headway.domain.manage.groups import GroupStatus
from headway.domain.states import JobStatus


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ([], GroupStatus.CREATED),
        ([states.QUEUED, states.WAITING_ON_DEPS], GroupStatus.QUEUED),
        ([states.SUCCEEDED, states.WAITING_ON_DEPS], GroupStatus.RUNNING),
        ([states.FAILED, states.CANCELLED, states.RUNNING], GroupStatus.RUNNING),
        ([states.SUCCEEDED, states.SKIPPED], GroupStatus.COMPLETED),
        ([states.SUCCEEDED, states.CANCELLED], GroupStatus.PARTIAL),
        ([states.FAILED, states.CANCELLED], GroupStatus.PARTIAL),
        ([states.CANCELLED, states.CANCELLED], GroupStatus.CANCELLED),
    ],
)
def test_a_group_has_ended_only_when_every_member_has(
    members: list[JobStatus], status: GroupStatus
) -> None:
    assert groups.status_of(members) is status
