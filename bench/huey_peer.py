"""A peer in an environment of its own: Huey on SQLite, draining no-op tasks with durable writes."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import sys, time, threading
from huey import SqliteHuey
count = int(sys.argv[2])
huey = SqliteHuey(filename=sys.argv[1], fsync=True, results=False)
done = 0
@huey.task()
def noop():
    global done
    done += 1
for _ in range(count):
    noop()
consumer = huey.create_consumer(workers=4, periodic=False, initial_delay=0.001, max_delay=0.01)
began = time.perf_counter()
consumer.start()
while done < count:
    time.sleep(0.005)
print(count / (time.perf_counter() - began))
consumer.stop(graceful=False)
"""


def drain(count: int) -> float:
    """Tasks a second."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        home = Path(folder) / "venv"
        venv.create(home, with_pip=True)
        python = home / "bin" / "python"
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "huey"], check=True, stdout=sys.stderr
        )
        program = Path(folder) / "peer.py"
        program.write_text(PROGRAM)
        answer = subprocess.run(
            [python, program, str(Path(folder) / "huey.db"), str(count)],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
    return float(answer.stdout.strip().splitlines()[-1])
