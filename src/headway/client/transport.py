"""How requests travel: to a server in `over_http`, or to the functions in this process."""

from collections.abc import AsyncIterator, Iterator
from typing import Protocol, TypeVar

from headway.protocol.operation import Request

Answer = TypeVar("Answer")


class Transport(Protocol):
    """Carries requests."""

    is_local: bool
    """Whether there is no server between the caller and the database."""

    def send(self, request: Request[Answer]) -> Answer:
        """Ask, and wait for the answer."""

    async def send_async(self, request: Request[Answer]) -> Answer:
        """Ask, without blocking the event loop."""

    def log(self, run_id: str, stream: str, *, follow: bool, tail: int | None) -> Iterator[bytes]:
        """A run's output, piece by piece."""

    def log_async(
        self, run_id: str, stream: str, *, follow: bool, tail: int | None
    ) -> AsyncIterator[bytes]:
        """A run's output, without blocking the event loop."""

    def close(self) -> None:
        """Close connections."""

    async def close_async(self) -> None:
        """Close connections, without blocking the event loop."""
