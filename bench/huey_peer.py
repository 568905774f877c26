"""A peer in an environment of its own: Huey on SQLite with durable writes."""

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.cost import Cost

PROGRAM = """
import sys, time
from huey import SqliteHuey
file, what, count, workers, results = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
huey = SqliteHuey(filename=file, fsync=True, results=bool(results), store_none=bool(results))
done = 0
@huey.task()
def noop():
    global done
    done += 1
def submit():
    for _ in range(count):
        noop()
def drain():
    consumer.start()
    while done < count:
        time.sleep(0.005)
if what == "drain":
    submit()
consumer = huey.create_consumer(
    workers=workers, periodic=False, initial_delay=0.001, max_delay=0.01)
began, used = time.perf_counter(), time.process_time()
{"drain": drain, "submit": submit}[what]()
print(time.perf_counter() - began, time.process_time() - used)
if what == "drain":
    consumer.stop(graceful=False)
"""


class Huey:
    """An environment with Huey in it."""

    def __init__(self, python: Path) -> None:
        self._python = python

    def drain(self, count: int, workers: int, *, results: bool) -> Cost:
        """No-op tasks by so many threads; with results, each one's is written."""
        return self._run("drain", count, workers, int(results))

    def submit(self, count: int) -> Cost:
        """One caller, one transaction each."""
        return self._run("submit", count, 1, 0)

    def _run(self, what: str, count: int, *numbers: int) -> Cost:
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
            file = str(Path(folder) / "huey.db")
            answer = subprocess.run(
                [self._python, "-c", PROGRAM, file, what, str(count), *map(str, numbers)],
                check=True,
                capture_output=True,
                text=True,
                timeout=300,
            )
        seconds, cpu_s = map(float, answer.stdout.split()[-2:])
        return Cost(count, seconds, cpu_s)


@contextmanager
def installed() -> Iterator[Huey]:
    """Huey; the package is fetched."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "-q", "huey"]
        subprocess.run(install, check=True, stdout=sys.stderr)
        yield Huey(python)
