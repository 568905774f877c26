"""What a machine lacks now and may have later: that is no failure of a job."""

import errno
import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 5.0
SAY_EVERY_S = 60.0
"""What a machine lacks, it lacks for many jobs at once: the log says it once in this time."""

LACKING = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}
)

Value = TypeVar("Value")

log = logging.getLogger("headway.worker")


class Notices:
    """Warnings about what is lacking, one for all jobs that wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said_at: float | None = None

    def say(self, what: str) -> None:
        """Warn, unless that was done a short while ago."""
        now = time.monotonic()
        with self._lock:
            if self._said_at is not None and now - self._said_at < SAY_EVERY_S:
                return
            self._said_at = now
        log.warning("%s; this and others are tried again", what)


notices = Notices()


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def is_one(error: BaseException) -> bool:
    """Whether the same call may work later: no file descriptor, memory, process or disk space."""
    return isinstance(error, OSError) and error.errno in LACKING


def outlast(
    action: Callable[[], Value],
    *,
    what: str,
    pause: Callable[[float], bool] = _sleep,
    tell: Callable[[str], None] = lambda _: None,
) -> Value | None:
    """Try until nothing is lacking, at growing intervals; None once `pause` says to give up."""
    wait_s = FIRST_WAIT_S
    has_told = False
    while True:
        try:
            return action()
        except OSError as error:
            if not is_one(error):
                raise
            if not has_told:
                notices.say(f"{what}: {error.strerror}")
                tell(str(error.strerror))
                has_told = True
        if pause(wait_s):
            return None
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
