"""`script/mutants`: plant each fault in a copy and see that it is caught; none may survive."""

import argparse
import queue
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docs_tools

from mutants import ALL, catching, results
from mutants.catching import Seen
from mutants.copies import Copy
from mutants.fault import Catcher, Fault, NamedTest, Simulation
from mutants.results import Result

SEED = re.compile(r"seed (\d+)")
PLAYS = Simulation()
NOT_PLAYED = (
    "worker/",
    "http/",
    "storage/engine/",
    "storage/postgres/",
    "storage/sqlite/files.py",
    "domain/manage/cron.py",
    "scheduler/upkeep/courier.py",
)
"""Where a fault is out of reach for the simulation, which runs the verbs on a store in memory."""


def main() -> int:
    """Run what was asked for; the exit code is 0 only if every fault was caught."""
    parser = argparse.ArgumentParser(prog="script/mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="faults to plant; all without any")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--list", action="store_true", help="name the faults and run nothing")
    parser.add_argument(
        "--simulate", action="store_true", help="see of each fault whether the simulation finds it"
    )
    parser.add_argument("--write", action="store_true", help="keep the results for docs/proof.md")
    given = parser.parse_args()
    chosen = [fault for fault in ALL if not given.names or fault.name in given.names]
    if unknown := set(given.names) - {fault.name for fault in ALL}:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    if given.list:
        print(
            "\n".join(f"§{fault.section:<3} {fault.name:<36} {fault.promise}" for fault in chosen)
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="headway-mutants-") as folder:
        return _Laboratory(Path(folder), given.jobs).work(
            chosen, simulate=given.simulate, write=given.write
        )


class _Laboratory:
    """As many copies as there are processes."""

    def __init__(self, folder: Path, processes: int) -> None:
        self._copies: queue.Queue[Copy] = queue.Queue()
        self._processes = processes
        for place in range(processes):
            self._copies.put(Copy(folder / str(place)))

    def work(self, faults: Sequence[Fault], *, simulate: bool, write: bool) -> int:
        """See that the catchers pass without a fault and fail with theirs."""
        began = time.monotonic()
        if problems := self._check_sound(faults):
            print("\n".join(problems))
            return 1
        seen = self._each(faults, [fault.caught_by for fault in faults])
        caught = [fault for fault, one in zip(faults, seen, strict=True) if one.failed]
        seeds = self._seeds(faults, seen) if simulate else _known_seeds(faults, seen)
        for fault, one in zip(faults, seen, strict=True):
            if not one.failed:
                state = "SURVIVED" if one.passed else "BROKEN"
                print(f"{state}  {fault.name}: {one.detail or fault.caught_by}")
        took_s = time.monotonic() - began
        print(f"{len(faults)} faults, {len(caught)} caught in {took_s:.0f} s")
        if simulate:
            found = sum(1 for seed in seeds if seed is not None)
            print(f"{found} of them are found by the first {PLAYS.seeds} plays of the simulation")
        if write:
            _keep(faults, seen, seeds)
        return 0 if len(caught) == len(faults) else 1

    def _check_sound(self, faults: Sequence[Fault]) -> list[str]:
        """What is wrong with the catchers while there is no fault."""
        catchers = dict.fromkeys(fault.caught_by for fault in faults)
        tests = [one for one in catchers if isinstance(one, NamedTest)]
        plays = [one for one in catchers if isinstance(one, Simulation)]

        def check(kind: object) -> Seen:
            copy = self._copies.get()
            try:
                if isinstance(kind, Simulation):
                    return catching.run(copy, kind)
                some = [one for one in tests if one.postgres is kind]
                return catching.run_tests(copy, some, postgres=bool(kind))
            finally:
                self._copies.put(copy)

        kinds = [*plays, *dict.fromkeys(one.postgres for one in tests)]
        with ThreadPoolExecutor(self._processes) as pool:
            seen = list(pool.map(check, kinds))
        return [f"fails without any fault: {one.detail}" for one in seen if not one.passed]

    def _each(self, faults: Sequence[Fault], catchers: Sequence[Catcher]) -> list[Seen]:
        def run(fault: Fault, catcher: Catcher) -> Seen:
            copy = self._copies.get()
            try:
                with copy.with_fault(fault):
                    seen = catching.run(copy, catcher)
            finally:
                self._copies.put(copy)
            mark = "caught" if seen.failed else "passed" if seen.passed else "BROKEN"
            print(f"{mark:>7} {seen.seconds:6.1f} s  {fault.name}: {seen.detail}", flush=True)
            return seen

        with ThreadPoolExecutor(self._processes) as pool:
            return list(pool.map(run, faults, catchers))

    def _seeds(self, faults: Sequence[Fault], seen: Sequence[Seen]) -> list[int | None]:
        """For each fault, the play of the simulation that finds it."""
        known = {
            fault.name: one
            for fault, one in zip(faults, seen, strict=True)
            if fault.caught_by == PLAYS
        }
        others = [
            fault
            for fault in faults
            if fault.name not in known and not fault.file.startswith(NOT_PLAYED)
        ]
        played = self._each(others, [PLAYS] * len(others))
        known.update((fault.name, one) for fault, one in zip(others, played, strict=True))
        return [_seed(known.get(fault.name)) for fault in faults]


def _seed(seen: Seen | None) -> int | None:
    found = SEED.match(seen.detail) if seen is not None and seen.failed else None
    return int(found[1]) if found else None


def _known_seeds(faults: Sequence[Fault], seen: Sequence[Seen]) -> list[int | None]:
    """The plays that found these faults now, or in an earlier run."""
    kept = results.read()
    return [
        _seed(one) if fault.caught_by == PLAYS else before.seed if before is not None else None
        for fault, one in zip(faults, seen, strict=True)
        for before in [results.of(fault, kept)]
    ]


def _keep(faults: Sequence[Fault], seen: Sequence[Seen], seeds: Sequence[int | None]) -> None:
    """Write the results down and renew the page that shows them."""
    kept = results.read()
    for fault, one, seed in zip(faults, seen, seeds, strict=True):
        kept.pop(fault.name, None)
        if one.failed:
            kept[fault.name] = Result(results.digest(fault), round(one.seconds, 1), seed)
    names = [fault.name for fault in ALL if fault.name in kept]
    results.write({name: kept[name] for name in names})
    docs_tools.write()


if __name__ == "__main__":
    sys.exit(main())
