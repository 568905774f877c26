"""Slots: how many jobs a worker does at once."""

import threading
import time


class Slots:
    """Counts what is in use. A lock serialises claims and direct requests."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.door = threading.Lock()
        self._changed = threading.Condition()
        self._used = 0
        self._wanted: list[int] = []

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self.size - self._used

    @property
    def used(self) -> int:
        """How many slots are in use."""
        return self._used

    def take(self, count: int) -> None:
        """Use so many slots."""
        with self._changed:
            self._used += count

    def give_back(self, count: int = 1) -> None:
        """So many slots are free again."""
        with self._changed:
            self._used -= count
            # Waking a thread for every job would cost more than a short job itself.
            if not self._used or (self._wanted and self.free >= min(self._wanted)):
                self._changed.notify_all()

    def wait_free(self, timeout_s: float, count: int = 1) -> bool:
        """Wait until so many slots are free."""
        if self.free >= count:
            return True
        with self._changed:
            self._wanted.append(count)
            try:
                return self._changed.wait_for(lambda: self.free >= count, timeout_s)
            finally:
                self._wanted.remove(count)

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until nothing runs."""
        with self._changed:
            return self._changed.wait_for(lambda: self._used == 0, timeout_s)

    def take_one(self, timeout_s: float) -> bool:
        """Take the next slot that is free, before any job that is claimed later."""
        give_up = time.monotonic() + timeout_s
        while True:
            if not self.wait_free(max(0.0, give_up - time.monotonic())):
                return False
            with self.door:
                if self.free > 0:
                    self.take(1)
                    return True
