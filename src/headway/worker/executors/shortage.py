"""What a machine lacks now and may have later: that is no failure of a job."""

import errno
import logging
import time
from collections.abc import Callable
from typing import TypeVar

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 5.0

LACKING = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}
)

Value = TypeVar("Value")

log = logging.getLogger("headway.worker")


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
                log.warning("%s: %s; it is tried again", what, error.strerror)
                tell(str(error.strerror))
                has_told = True
        if pause(wait_s):
            return None
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
