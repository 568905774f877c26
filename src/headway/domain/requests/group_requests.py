"""What a person or program asks for to make a group."""

import msgspec

from headway.domain.manage.groups import GroupMode, OnFailure
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest


class GroupRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a new group is made of. Its jobs may name each other by `ref`."""

    jobs: list[BatchJobRequest]
    name: str | None = None
    mode: GroupMode = GroupMode.SEQUENTIAL
    on_failure: OnFailure = OnFailure.STOP
    on_complete: JobRequest | None = None
    """A job that is made when the group ends, with the group's summary among its params."""
