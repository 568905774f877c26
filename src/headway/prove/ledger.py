"""Ledgers: what a process saw, one line each, on disk before the process goes on."""

import os
import time
from pathlib import Path
from typing import Any

import msgspec

FOLDER = "ledgers"

ASKED = "asked"
ACKNOWLEDGED = "acknowledged"
SEEN = "seen"
BEGIN = "begin"
END = "end"
FINISHED = "finished"
KILLED = "killed"
APPROVES = "approves"
TOLD = "told"


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line. `at` is the monotonic clock in nanoseconds, which all processes share."""

    at: int
    what: str
    pid: int
    key: str = ""
    job_id: str = ""
    run_id: str = ""
    status: str = ""
    group_id: str = ""


class Ledger:
    """The ledger of this process."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True, mode=0o700)
        self._pid = os.getpid()
        file = folder / f"{name}-{self._pid}-{time.monotonic_ns()}.jsonl"
        self._handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, what: str, **facts: Any) -> None:
        """Write one line and wait until it is on disk."""
        fact = Fact(at=time.monotonic_ns(), what=what, pid=self._pid, **facts)
        os.write(self._handle, msgspec.json.encode(fact) + b"\n")
        os.fsync(self._handle)


class Ledgers:
    """All ledgers of a folder, read on from where the last look ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.facts: list[Fact] = []

    def look(self) -> list[Fact]:
        """Every fact so far. A line without an end was cut off by a kill and does not count."""
        for file in self._folder.glob("*.jsonl"):
            with file.open("rb") as lines:
                lines.seek(self._read.get(file, 0))
                whole, _, _ = lines.read().rpartition(b"\n")
            if whole:
                self._read[file] = self._read.get(file, 0) + len(whole) + 1
                self.facts += msgspec.json.decode(
                    b"[" + whole.replace(b"\n", b",") + b"]", type=list[Fact]
                )
        return self.facts
