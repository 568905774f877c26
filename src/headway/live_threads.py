"""Which runs are in threads of this process, and which of them should have ended."""

from collections.abc import Callable, Iterable


class LiveThreads:
    """Told by executors when a run's thread begins and ends, and by whatever ends its lease."""

    def __init__(self) -> None:
        self._live: dict[str, int] = {}
        self._late: dict[str, int] = {}
        self.when_one_ends: Callable[[], None] = lambda: None
        """Called when a late run has ended: another attempt may start."""

    def begin(self, run_id: str, number: int) -> None:
        """The run of this job is in a thread from here on."""
        self._live[run_id] = number

    def end(self, run_id: str) -> None:
        """Its thread is done with it."""
        self._live.pop(run_id, None)
        if self._late:
            self._end_late(run_id)

    def outlive(self, run_ids: Iterable[str]) -> None:
        """The leases of these runs are over; those that are in threads here are late."""
        for run_id in run_ids:
            if (number := self._live.get(run_id)) is not None:
                self._late[run_id] = number
                # Without a lock, which each end would pay for: it may have ended meanwhile.
                if run_id not in self._live:
                    self._end_late(run_id)

    def _end_late(self, run_id: str) -> None:
        if self._late.pop(run_id, None) is not None:
            self.when_one_ends()

    def late(self) -> list[int]:
        """The jobs of the runs that are late."""
        return list(self._late.values())
