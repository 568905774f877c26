"""Errors of a batch: each names the job of the batch that it is about."""

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

from headway.domain.errors import HeadwayError
from headway.domain.requests.job_requests import BatchJobRequest, JobRequest

T = TypeVar("T")


class Turns:
    """The requests of one submit; inside `with`, an error names the one whose turn it was."""

    def __init__(self, asked: Sequence[JobRequest]) -> None:
        self.asked = asked
        self._place: int | None = None

    def each(self, placed: Iterable[tuple[int, T]]) -> Iterator[T]:
        """One after the other, by their places in the batch."""
        for self._place, one in placed:
            yield one
        self._place = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, HeadwayError) and self._place is not None:
            request = self.asked[self._place]
            if isinstance(request, BatchJobRequest):
                error.of_job(self._place, request.ref)
