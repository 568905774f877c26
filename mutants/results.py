"""What the last whole run saw, kept beside the list so that the page on proof can show it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mutants.fault import Fault

FILE = Path(__file__).parent / "results.json"


@dataclass(frozen=True)
class Result:
    """How a fault was caught, and which play of the simulation finds it, if one does."""

    digest: str
    seconds: float
    seed: int | None


def digest(fault: Fault) -> str:
    """Tells whether a fault is still the one that was run, whatever file it is in by now."""
    parts = (fault.text, fault.instead, repr(fault.caught_by))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def read() -> dict[str, Result]:
    """The results by the names of the faults."""
    if not FILE.exists():
        return {}
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Result(**one) for name, one in kept.items()}


def write(results: Mapping[str, Result]) -> None:
    """Keep these results, in the order of the list."""
    kept = {name: asdict(one) for name, one in results.items()}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def of(fault: Fault, results: Mapping[str, Result]) -> Result | None:
    """The result of a fault, unless the fault has changed since."""
    found = results.get(fault.name)
    return found if found is not None and found.digest == digest(fault) else None
