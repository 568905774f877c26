"""What a run leaves behind when its first process has ended, found without a look at everything.

Numbers of processes are given out one after the other. So what a command started has a number
between its own and the last one that was given out, and only these are looked at. Most commands
leave nothing behind, and to know that must not cost more than the command.
"""

import os

from headway.worker import process_groups

FORKS_IN_ORDER = 10_000
"""After fewer starts than there are numbers, numbers tell which of two processes is older."""


def forks_so_far() -> int | None:
    """How many processes and threads this machine has ever started, where it counts them."""
    try:
        with open("/proc/stat", "rb") as file:
            return int(file.read().partition(b"\nprocesses ")[2].split(maxsplit=1)[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


def end(leader: int, run_id: str, grace: float, forks_before: int | None) -> bool:
    """End what is left of a run; `forks_before` was counted before its leader was started."""
    if forks_before is not None and is_none(leader, run_id, forks_before):
        return True
    return process_groups.end_run(leader, {run_id}, grace)


def is_none(leader: int, run_id: str, forks_before: int) -> bool:
    """Whether surely no process that is younger than this one belongs to its group or its run."""
    seen = leader
    while (last := _last_number()) != seen:  # until nothing was started while this looked
        forks = forks_so_far()
        if forks is None or forks - forks_before > FORKS_IN_ORDER:
            return False
        if any(
            process_groups.may_belong(pid, leader, run_id) for pid in _numbers_between(seen, last)
        ):
            return False
        seen = last
    return True


def _last_number() -> int:
    """The number that was given to the newest process or thread."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[-1])


def _numbers_between(after: int, last: int) -> list[int]:
    """Processes whose numbers were given out after one, up to another: the numbers wrap around."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if after <= last:
        return [number for number in numbers if after < number <= last]
    return [number for number in numbers if number > after or number <= last]
