"""What a job costs: wall time, and the CPU time of this process and of all below it."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """The cost of so many jobs."""

    count: int
    seconds: float
    cpu_s: float

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.count / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU microseconds per job."""
        return self.cpu_s / self.count * 1e6


class Meter:
    """Measures from here on what a process and all below it use; without one it is this process."""

    def __init__(self, pid: int | None = None) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._used = cpu_s(self._pid)
        self._began = time.perf_counter()

    def cost(self, count: int) -> Cost:
        """What so many jobs have cost up to now."""
        seconds = time.perf_counter() - self._began
        return Cost(count, seconds, cpu_s(self._pid) - self._used)


def cpu_s(pid: int) -> float:
    """The CPU time of a process, its threads and its children, those that have ended included."""
    return sum(
        _own_cpu_s(one) + reaped_ticks / os.sysconf("SC_CLK_TCK")
        for one, reaped_ticks in _family(pid).items()
    )


def _family(pid: int) -> dict[int, int]:
    """A process and all below it, with the ticks of the children that each has reaped."""
    children: dict[int, list[int]] = {}
    reaped_ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(entry)) is not None:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            reaped_ticks[int(entry.name)] = int(fields[13]) + int(fields[14])
    family, left = {}, [pid]
    while left:
        one = left.pop()
        left += children.get(one, [])
        family[one] = reaped_ticks.get(one, 0)
    return family


def _stat(entry: Path) -> list[str] | None:
    """The fields of /proc/<pid>/stat that follow the name."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return None


def _own_cpu_s(pid: int) -> float:
    """What clock_getcpuclockid(3) finds: finer than the ticks in /proc."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def resident_mb(pid: int) -> float:
    """The memory that a process and all below it have in use, what they share counted in each."""
    pages = (Path(f"/proc/{one}/statm").read_text().split()[1] for one in _family(pid))
    return sum(map(int, pages)) * resource.getpagesize() / 1e6
