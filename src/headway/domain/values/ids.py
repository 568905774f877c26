"""Public ids: UUIDv7 strings, so that newer things sort later."""

from datetime import datetime
from functools import lru_cache

from headway.domain.values.chance import Chance


def uuid7(moment: datetime, source: Chance) -> str:
    """A UUIDv7 made of a moment and 74 random bits."""
    bits = source.getrandbits(74)
    text = f"{0x8000000000000000 | bits & 0x3FFFFFFFFFFFFFFF:016x}"
    return f"{_prefix(moment)}{bits >> 62:03x}-{text[:4]}-{text[4:]}"


@lru_cache(maxsize=4)
def _prefix(moment: datetime) -> str:
    """Ids that are made in one transaction begin alike: the moment and the version."""
    millis = f"{int(moment.timestamp() * 1000):012x}"
    return f"{millis[:8]}-{millis[8:]}-7"
