"""A peer in an environment of its own: DBOS on SQLite, with the settings that it comes with."""

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
from dbos import DBOS
file, programs, each = sys.argv[1], *map(int, sys.argv[2:])
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{file}", "log_level": "ERROR",
    "run_admin_server": False})
@DBOS.step()
def noop(number):
    return number
@DBOS.workflow()
def program():
    for number in range(each):
        noop(number)
DBOS.launch()
began, used = time.perf_counter(), time.process_time()
for handle in [DBOS.start_workflow(program) for _ in range(programs)]:
    handle.get_result()
print(time.perf_counter() - began, time.process_time() - used)
DBOS.destroy()
"""


class Dbos:
    """An environment with DBOS in it."""

    def __init__(self, python: Path) -> None:
        self._python = python

    def steps(self, programs: int, each: int) -> Cost:
        """Programs at once, each with so many steps."""
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
            file = str(Path(folder) / "dbos.db")
            answer = subprocess.run(
                [self._python, "-c", PROGRAM, file, str(programs), str(each)],
                check=True,
                capture_output=True,
                text=True,
                timeout=300,
            )
        seconds, cpu_s = map(float, answer.stdout.split()[-2:])
        return Cost(programs * each, seconds, cpu_s)


@contextmanager
def installed() -> Iterator[Dbos]:
    """DBOS; the package is fetched."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "-q", "dbos"]
        subprocess.run(install, check=True, stdout=sys.stderr)
        yield Dbos(python)
