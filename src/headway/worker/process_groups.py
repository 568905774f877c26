"""Which process is which, and how a group of processes is ended without hitting a stranger.

The guard runs this file outside the package: it may import the standard library only.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUN_MARK = "HEADWAY_RUN_ID"
RECORD = "process.json"
KILL_PATIENCE_S = 5.0

_HAS_PROC = sys.platform.startswith("linux")
_DEAD = ("Z", "X", "x")


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """One process and no other: a pid alone is used again."""

    host: str
    boot_id: str
    pid: int
    start_time: str


def identify(pid: int) -> ProcessIdentity:
    """The identity of a process on this host; raises ProcessLookupError when there is none."""
    began = start_time(pid)
    if began is None:
        raise ProcessLookupError(f"there is no process {pid}")
    return ProcessIdentity(host=os.uname().nodename, boot_id=boot_id(), pid=pid, start_time=began)


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether that very process runs; one on another host counts, as only its lease can tell."""
    if identity.host != os.uname().nodename:
        return True
    if identity.boot_id != boot_id():
        return False
    return is_running(identity.pid, identity.start_time)


def is_worker_alive(host: str, pid: int, process_started: str) -> bool:
    """Whether a worker's process is there; `process_started` holds the boot and the start time."""
    boot, _, began = process_started.partition("/")
    return is_alive(ProcessIdentity(host=host, boot_id=boot, pid=pid, start_time=began))


def is_running(pid: int, began: str) -> bool:
    """Whether the process that began then runs on this machine; a zombie does not."""
    process = _look_up(pid)
    return process is not None and process.is_live and process.start_time == began


def start_time(pid: int) -> str | None:
    """When a process began, in the system's own words; None when there is no such process."""
    process = _look_up(pid)
    return None if process is None else process.start_time


def boot_id() -> str:
    """Changes when the machine starts again: pids and start times of before mean nothing then."""
    if _HAS_PROC:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return _output_of("sysctl", "-n", "kern.boottime").strip()


def is_gone(pgid: int) -> bool:
    """Whether a group has no member left except zombies."""
    return not _not_gone({pgid})


def end_group(pgid: int, began: str, grace: float) -> bool:
    """End the group whose leader began at that time: SIGTERM, then SIGKILL; True when it is gone.

    A group that took over the number is left alone, and counts as gone.
    """
    if not _is_the_group(pgid, began):
        return True
    marks = set().union(*(_marks(member.pid) for member in _members(pgid)))
    return end_run(pgid, marks, grace)


def end_run(pgid: int, run_ids: Collection[str], grace: float) -> bool:
    """End a group that is surely ours and every process that left it but bears a run's mark."""
    gone = _end_groups({pgid} | _marked_groups(run_ids), grace)
    # One that was ended may have started another group after it was looked for.
    while gone and (left := _marked_groups(run_ids)):
        gone = _end_groups(left, 0.0)
    return gone


def may_belong(pid: int, pgid: int, run_id: str) -> bool:
    """Whether a process lives and is in the group or bears the run's mark, as far as is known now.

    While a program is loaded, its environment looks empty: what it bears is not known then.
    """
    process = _look_up(pid)
    if process is None or not process.is_live:
        return False
    return process.pgid == pgid or _environment(pid) == b"" or run_id in _marks(pid)


def end_members(pgid: int, grace: float) -> bool:
    """End a group that is surely ours, for instance since its unreaped leader keeps the number."""
    return _end_groups({pgid}, grace)


def _end_groups(pgids: Collection[int], grace: float) -> bool:
    """End groups that are surely ours, all at once; True when they are gone."""
    left = _not_gone(pgids)
    for pgid in left:
        terminate(pgid)
    left = _wait_until_gone(left, grace)
    for pgid in left:
        send(pgid, signal.SIGKILL)
    return not _wait_until_gone(left, KILL_PATIENCE_S)


def terminate(pgid: int) -> None:
    """Ask a group to end; a stopped process must wake up to hear it."""
    send(pgid, signal.SIGTERM)
    send(pgid, signal.SIGCONT)


def send(pgid: int, number: signal.Signals) -> None:
    """Send a signal to a group that may be gone already."""
    # macOS returns "not permitted" for a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def record(directory: Path, pid: int) -> None:
    """Note a run's process group beside its logs, for the recovery after a crash."""
    note = {"pid": pid, "start_time": start_time(pid), "boot_id": boot_id()}
    draft = directory / f"{RECORD}.draft"
    with open(draft, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(json.dumps(note))
    draft.replace(directory / RECORD)


def end_recorded(directories: Mapping[str, Path], grace: float) -> bool:
    """End what runs left behind when their worker died; True when nothing of it is alive.

    The runs are named with their folders. What is started is looked through once for all of them.
    """
    noted = {run_id: _note(directory) for run_id, directory in directories.items()}
    # The worker may have died before it noted a group, and a child may have left its group.
    found = _marked_groups(set(noted))
    here = boot_id()
    for note in noted.values():
        if note is not None and note["boot_id"] == here and _is_noted_group(note):
            found.add(note["pid"])
    return _end_groups(found, grace)


def _is_noted_group(note: Mapping[str, Any]) -> bool:
    return note["start_time"] is not None and _is_the_group(note["pid"], note["start_time"])


def _note(directory: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((directory / RECORD).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return found


@dataclass(frozen=True)
class _Process:
    pid: int
    pgid: int
    state: str
    start_time: str

    @property
    def is_live(self) -> bool:
        return self.state not in _DEAD


def _is_the_group(pgid: int, began: str) -> bool:
    leader = _look_up(pgid)
    if leader is not None:
        return leader.start_time == began
    # The leader is gone. Its number stays taken while members live, yet the whole group may have
    # gone and another one may have come and lost its leader too: only a mark of ours is proof.
    return any(_marks(member.pid) for member in _members(pgid))


def _marked_groups(run_ids: Collection[str]) -> set[int]:
    if not run_ids:
        return set()
    return {
        process.pgid for process in _all() if process.is_live and _marks(process.pid) & set(run_ids)
    }


def _marks(pid: int) -> set[str]:
    """Which run a process was started for, by its environment."""
    variables = (_environment(pid) or b"").decode(errors="replace").split("\0")
    return {one.partition("=")[2] for one in variables if one.startswith(f"{RUN_MARK}=")}


def _environment(pid: int) -> bytes | None:
    """The variables of a process; None if it is gone or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def _members(pgid: int) -> list[_Process]:
    return [process for process in _all() if process.pgid == pgid and process.is_live]


def _not_gone(pgids: Collection[int]) -> set[int]:
    """Those of the groups that have a live member; one look at everything that runs for all."""
    left = {pgid for pgid in pgids if not _has_no_number(pgid)}
    return left & {process.pgid for process in _all() if process.is_live} if left else left


def _has_no_number(pgid: int) -> bool:
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _wait_until_gone(pgids: Collection[int], seconds: float) -> set[int]:
    """Those that are still there after so long."""
    deadline = time.monotonic() + seconds
    pause = 0.005
    while left := _not_gone(pgids):
        time_left = deadline - time.monotonic()
        if time_left <= 0:
            return left
        time.sleep(min(pause, time_left))
        pause = min(pause * 2, 0.1)
    return set()


def _look_up(pid: int) -> _Process | None:
    if _HAS_PROC:
        return _read_stat(pid)
    lines = _output_of("ps", "-o", "pid=,pgid=,stat=,lstart=", "-p", str(pid)).splitlines()
    return _parse_ps(lines[0]) if lines else None


def _all() -> list[_Process]:
    if _HAS_PROC:
        found = [_read_stat(int(name)) for name in os.listdir("/proc") if name.isdigit()]
        return [process for process in found if process is not None]
    lines = _output_of("ps", "-A", "-o", "pid=,pgid=,stat=,lstart=").splitlines()
    return [_parse_ps(line) for line in lines]


def _read_stat(pid: int) -> _Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in brackets may hold anything, brackets too: count from the last one.
    fields = line[line.rindex(b")") + 2 :].split()
    return _Process(pid, int(fields[2]), fields[0].decode(), fields[19].decode())


def _parse_ps(line: str) -> _Process:
    pid, pgid, state, began = line.split(maxsplit=3)
    return _Process(int(pid), int(pgid), state[0], began.strip())


def _output_of(*command: str) -> str:
    # The same words whatever the language and timezone of the one who asks.
    env = os.environ | {"LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=env).stdout
