"""What a power cut could leave of an SQLite store: the files at one moment, with a torn end.

The servers are stopped (SIGSTOP) while the files are copied, so that a copy is one moment. What
was synced before is kept: a cut is never before the last commit that was there when the ledgers
were read, nor before what a checkpoint may have begun to move into the database.
"""

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headway.prove.fleet import Fleet
from headway.prove.ledger import Ledgers
from headway.prove.oracle import findings, history
from headway.prove.oracle.findings import Finding
from headway.prove.oracle.history import History
from headway.prove.places import environment

HEADER, FRAME = 32, 24
BACKFILL = 128
"""Where the index of the log says how far a checkpoint may have come."""

WHOLE, CUT, ZEROS, GARBAGE = "whole", "cut", "zeros", "garbage"
LONGEST_WAIT_S = 0.05


class Images:
    """Takes images of a running store, and looks whether everything acknowledged is in them."""

    def __init__(self, fleet: Fleet, chance: random.Random) -> None:
        self._fleet = fleet
        self._chance = chance
        self._ledgers = Ledgers(fleet.place.folder / "ledgers")
        self._checker: subprocess.Popen[str] | None = None
        self.made = 0
        self.found: list[Finding] = []

    def take(self) -> None:
        """Take one, tear its end, and check it."""
        database = self._fleet.place.database
        assert database is not None
        told = history.read(self._ledgers.look())
        log = Path(f"{database}-wal")
        safe = last_commit(log)
        time.sleep(self._chance.uniform(0, LONGEST_WAIT_S))
        data = self._copy(database)
        copied = data / log.name
        if copied.exists():
            same = safe is not None and _salt(copied) == safe.salt
            self._tear(copied, safe if same else None, data)
        self.made += 1
        wrong = [*self._verified(data), *missing(data / database.name, told)]
        self.found += [_named(self.made, one) for one in wrong]
        if not wrong:
            shutil.rmtree(data)

    def _copy(self, database: Path) -> Path:
        """All files at one moment."""
        target = self._fleet.place.folder / "images" / str(self.made + 1)
        target.mkdir(parents=True, mode=0o700)
        for server in self._fleet.servers:
            server.send(signal.SIGSTOP)
        try:
            for ending in ("", "-wal", "-shm"):
                file = Path(f"{database}{ending}")
                if file.exists():
                    shutil.copyfile(file, target / file.name)
                    (target / file.name).chmod(0o600)
        finally:
            for server in self._fleet.servers:
                server.send(signal.SIGCONT)
        return target

    def _tear(self, log: Path, safe: "Commit | None", data: Path) -> None:
        """End the log somewhere behind what is safe, in one of the ways a power cut can."""
        index = data / log.name.replace("-wal", "-shm")
        size = log.stat().st_size
        least = max(safe.end if safe else HEADER, _backfilled(index, log))
        way = self._chance.choice((WHOLE, CUT, ZEROS, GARBAGE))
        index.unlink(missing_ok=True)  # memory, which a power cut does not keep
        if way == WHOLE or least >= size:
            return
        place = self._chance.randrange(least, size)
        with log.open("r+b") as file:
            file.truncate(place)
            file.seek(place)
            if way == ZEROS:
                file.write(bytes(size - place))
            if way == GARBAGE:
                file.write(self._chance.randbytes(size - place))

    def _verified(self, data: Path) -> list[Finding]:
        if self._checker is None:
            self._checker = subprocess.Popen(
                [sys.executable, "-m", "headway.prove.child", "checker"],
                cwd=self._fleet.place.folder,
                env=environment(self._fleet.place),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert self._checker.stdin is not None
        assert self._checker.stdout is not None
        self._checker.stdin.write(f"{data}\n")
        self._checker.stdin.flush()
        return [
            Finding(findings.DAMAGE, one) for one in json.loads(self._checker.stdout.readline())
        ]

    def close(self) -> None:
        """End the process that verifies."""
        if self._checker is not None:
            self._checker.communicate()


class Commit(msgspec.Struct, frozen=True):
    """The salt of a log, and where its last commit ends."""

    salt: bytes
    end: int


def last_commit(log: Path) -> Commit | None:
    """Where the last whole transaction of a log ends."""
    content = log.read_bytes() if log.exists() else b""
    if len(content) < HEADER:
        return None
    salt = content[16:24]
    size = FRAME + int.from_bytes(content[8:12], "big")
    end = HEADER
    for start in range(HEADER, len(content) - size + 1, size):
        if content[start + 8 : start + 16] != salt:
            break
        if content[start + 4 : start + 8] != bytes(4):
            end = start + size
    return Commit(salt, end)


def missing(database: Path, told: History) -> Iterable[Finding]:
    """What was acknowledged and is not in a database."""
    raw = sqlite3.connect(database)
    try:
        jobs = dict(raw.execute("SELECT job_id, status FROM jobs"))
        runs = dict(raw.execute("SELECT run_id, status FROM runs"))
    except sqlite3.Error as error:
        return [Finding(findings.DAMAGE, str(error))]
    finally:
        raw.close()
    lost = [f"job {one}" for ids in told.jobs.values() for one in ids if one not in jobs]
    lost += [f"the end of job {one}" for one, end in told.seen.items() if jobs.get(one) != end]
    lost += [f"the end of run {one}" for one in told.finished if runs.get(one) != "COMPLETED"]
    return [Finding(findings.LOST, f"{one} was acknowledged and is not there") for one in lost]


def _named(number: int, found: Finding) -> Finding:
    return Finding(found.kind, f"image {number}: {found.detail}")


def _salt(log: Path) -> bytes:
    with log.open("rb") as file:
        return file.read(HEADER)[16:24]


def _backfilled(index: Path, log: Path) -> int:
    """How much of a log a checkpoint may have moved into the database: it was synced before."""
    with log.open("rb") as file:
        page = file.read(HEADER)[8:12]
    content = index.read_bytes()[: BACKFILL + 4] if index.exists() else b""
    if len(content) < BACKFILL + 4 or len(page) < 4:
        return HEADER
    frames = int.from_bytes(content[BACKFILL:], sys.byteorder)
    return HEADER + frames * (FRAME + int.from_bytes(page, "big"))
