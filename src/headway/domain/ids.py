"""Public ids: UUIDv7 strings, so that newer things sort later."""

from datetime import datetime
from typing import NewType

from headway.domain.chance import Chance

JobId = NewType("JobId", str)
RunId = NewType("RunId", str)
LeaseId = NewType("LeaseId", str)
"""A lease and the run it allows are born together, so they share one id."""


def uuid7(moment: datetime, source: Chance) -> str:
    """A UUIDv7 made of a moment and 74 random bits."""
    millis = int(moment.timestamp() * 1000)
    bits = source.getrandbits(74)
    version = 0x7000 | bits >> 62
    variant = 0x8000000000000000 | bits & 0x3FFFFFFFFFFFFFFF
    text = f"{millis << 80 | version << 64 | variant:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
