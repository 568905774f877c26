"""Which runs are in threads of this process, and which of them should have ended."""

import threading
from collections.abc import Callable, Iterable


class LiveThreads:
    """Told by executors when a run's thread begins and ends, and by whatever ends its lease."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, int] = {}
        self._late: dict[str, int] = {}
        self.when_one_ends: Callable[[], None] = lambda: None
        """Called when a late run has ended: another attempt may start."""

    def begin(self, run_id: str, number: int) -> None:
        """The run of this job is in a thread from here on."""
        self._live[run_id] = number

    def end(self, run_id: str) -> None:
        """Its thread is done with it."""
        with self._lock:
            self._live.pop(run_id, None)
            was_late = self._late.pop(run_id, None) is not None
        if was_late:
            self.when_one_ends()

    def outlive(self, run_ids: Iterable[str]) -> None:
        """The leases of these runs are over; those that are in threads here are late."""
        with self._lock:
            self._late.update(
                (run_id, self._live[run_id]) for run_id in run_ids if run_id in self._live
            )

    def late(self) -> list[int]:
        """The jobs of the runs that are late."""
        return list(self._late.values()) if self._late else []
