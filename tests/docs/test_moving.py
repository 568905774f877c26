"""The project that docs/moving.md moves does what the page says."""

import subprocess
import sys

from tests.docs.fences import ROOT, blocks, missing_line
from tests.servers import WAIT_S, Stage


def test_the_moved_project_works(stage: Stage) -> None:
    page = blocks(ROOT / "docs" / "moving.md")
    files = {one.info.split()[1]: one.text for one in page if one.info.startswith("python ")}
    assert list(files) == ["tasks.py", "calls.py", "test_tasks.py"]
    for name, text in files.items():
        (stage.folder / name).write_text(text)
    tested = _run(stage, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tasks.py")
    assert "1 passed" in tested

    stage.serve(app="tasks:app", data=".headway")
    shown = next(one.text for one in page if one.text.startswith("400"))
    assert missing_line(shown, _run(stage, "calls.py")) is None


def _run(stage: Stage, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=stage.folder,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
