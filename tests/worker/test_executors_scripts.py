"""Process handlers that are defined in a script."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import queue, sys
from pathlib import Path
from headway.domain.handlers import Handler
from headway.worker.context import JobContext, Work
from headway.worker.executors.children import Nursery
from headway.worker.executors.processes import ProcessExecutor
from headway.worker.guard import Guard

def double(number: int) -> int:
    return number * 2

if __name__ == "__main__":
    handlers = {"double": Handler.of(double, isolation="process")}
    work = Work(run_id="r", job_id="j", number=1, job_type="double", params={"number": 21},
                attempt=0, timeout_s=None, data=Path(sys.argv[1]))
    outcomes = queue.Queue()
    executor = ProcessExecutor(handlers, Nursery(Guard()))
    executor.start(work, JobContext(work), outcomes.put)
    print(outcomes.get(timeout=30))
"""


def test_a_handler_in_a_script_is_found_by_its_file(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "logs")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "result=42" in done.stdout
