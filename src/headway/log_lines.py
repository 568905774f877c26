"""Log lines: for people, or one JSON object each for machines."""

import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from headway.domain.values import moments

QUIET = ("httpx", "uvicorn.error")
AGAIN_AFTER_S = 60.0


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as JSON, with its traceback if it has one."""
        line = {
            "at": moments.show(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def set_up(form: str) -> None:
    """Write to standard error, as `text` or as `json`."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else plain)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class Seldom(logging.Filter):
    """Lets the same text through once in a while: anyone can send thousands of bad requests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._again_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is said."""
        if record.levelno != logging.WARNING:
            return True
        now = self._clock()
        if now < self._again_at.get(str(record.msg), now):
            return False
        self._again_at[str(record.msg)] = now + AGAIN_AFTER_S
        return True


SELDOM = Seldom()
