"""Everything that the guide to writing jobs shows is run."""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from tests.docs.fences import ROOT, blocks, missing_line
from tests.servers import WAIT_S, Stage

PAGES = {"write-jobs.md": "shop", "coming-from.md": "orders"}


def lay_out(folder: Path, page: str) -> None:
    """The files of a page; blocks of one name make one file."""
    texts: dict[str, list[str]] = defaultdict(list)
    for block in blocks(ROOT / "docs" / page):
        if block.info.startswith("python "):
            texts[block.info.split()[1]].append(block.text)
    assert texts
    for name, parts in texts.items():
        (folder / name).write_text("\n\n".join(parts))


@pytest.mark.parametrize("page", PAGES)
def test_the_files_of_the_page_pass_their_tests(stage: Stage, page: str) -> None:
    lay_out(stage.folder, page)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    said = subprocess.run(
        command, cwd=stage.folder, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr


def test_a_terminal_shows_what_the_guide_shows(stage: Stage) -> None:
    lay_out(stage.folder, "write-jobs.md")
    stage.serve(app="shop:app", data=".headway")
    page = blocks(ROOT / "docs" / "write-jobs.md")
    (typed,) = (one.text for one in page if one.info == "bash")
    (shown,) = (one.text for one in page if one.info == "text")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", typed],
        cwd=stage.folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    line = missing_line(shown, said.stdout)
    assert line is None, f"the page shows {line!r}, but this was said:\n{said.stdout}"
