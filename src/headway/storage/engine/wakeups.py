"""Wake-ups: a waiting thread is notified when what it waits for may have happened.

They are hints, never the truth: every waiter looks again at the database, and a slow poll stands
behind each of them.
"""

import logging
import threading
from collections.abc import Callable, Iterable

Listener = Callable[[], None]

log = logging.getLogger("headway.storage")


class Wakeups:
    """Listeners by topic. A listener must be quick: set an event, nothing more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, tuple[Listener, ...]] = {}

    def listen(self, topic: str, listener: Listener) -> Callable[[], None]:
        """Call the listener at each wake-up; return a function that stops it."""
        with self._lock:
            self._listeners[topic] = (*self._listeners.get(topic, ()), listener)

        def stop() -> None:
            with self._lock:
                rest = list(self._listeners.get(topic, ()))
                if listener in rest:
                    rest.remove(listener)
                self._listeners[topic] = tuple(rest)

        return stop

    def tell(self, topics: Iterable[str]) -> None:
        """Wake every listener of one of these topics."""
        for topic in topics:
            for listener in self._listeners.get(topic, ()):
                try:
                    listener()
                except Exception:  # one that fails stops neither the others nor the caller
                    log.exception("a wake-up was not heard")
