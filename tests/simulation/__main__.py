"""`script/simulate --seeds N [--from M] [--jobs J]`, or `--seed N` to see one play."""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulation import runner, shrink


def main() -> int:
    """Play the seeds that were asked for; the exit code says whether all went well."""
    parser = argparse.ArgumentParser(prog="script/simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many plays")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--seed", type=int, help="play this one and print its trace")
    parser.add_argument("--whole", action="store_true", help="with --seed: do not shrink a failure")
    parser.add_argument("--stop", action="store_true", help="stop at the first play that fails")
    parser.add_argument("--figures", action="store_true", help="say what the plays consisted of")
    given = parser.parse_args()
    if given.seed is not None:
        return _show(given.seed, whole=given.whole)
    seeds = range(given.first, given.first + given.seeds)
    return _first(seeds) if given.stop else _many(seeds, given.jobs, figures=given.figures)


def _show(seed: int, *, whole: bool) -> int:
    with runner.stage() as stage:
        played = stage.play(seed)
        print(played.trace)
        if played.failure is None:
            return 0
        print(f"\nseed {seed} failed: {played.failure}")
        if not whole:
            print("\nthe shortest play that fails in the same way:\n")
            shortest = shrink.shrink(stage, played)
            print(f"{shortest.trace}\n\n{shortest.failure}")
        return 1


def _first(seeds: range) -> int:
    """Play in this process until one fails."""
    with runner.stage() as stage:
        for seed in seeds:
            played = stage.play(seed)
            if played.failure is not None:
                print(f"seed {seed} failed: {_last_line(played.failure)}")
                return 1
    return 0


def _many(seeds: range, processes: int, *, figures: bool) -> int:
    began, steps, failed = time.monotonic(), 0, 0
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(processes, initializer=runner.prepare) as pool:
        for played in pool.map(runner.play_one, seeds, chunksize=20):
            steps += played.steps
            counts += played.counts
            if played.failure is not None:
                failed += 1
                print(f"seed {played.seed} failed: {_last_line(played.failure)}", flush=True)
    took_s = time.monotonic() - began
    print(
        f"{len(seeds)} plays, {steps} steps in {took_s:.1f} s"
        f" ({len(seeds) / took_s:.0f} plays/s, {steps / took_s:.0f} steps/s), {failed} failed"
    )
    if figures:
        for what, count in sorted(counts.items()):
            print(f"{count:>9}  {what}")
    return 1 if failed else 0


def _last_line(failure: str) -> str:
    return failure.strip().splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
