"""The command line in a folder of its own, with and without a server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headway.cli.main import app

WAIT_S = 30.0
PROGRAM = (sys.executable, "-m", "headway.cli.main")

APP = """
import time
from pathlib import Path

import headway

app = headway.App()


@app.job
def story(ctx: headway.JobContext, genre: str, length: int = 100) -> str:
    ctx.progress(0.5, "outline")
    print(f"a {genre} story of {length} words")
    return genre


@app.job
def muse() -> None:
    while not Path("inspired").exists():
        time.sleep(0.01)


@app.job
def strain() -> None:
    raise ValueError("too heavy")
"""


class Cli:
    """Calls the command line, in this process or as a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def call(self, *words: str, code: int = 0) -> Result:
        """Call a command in this process; it must exit with this code."""
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def text(self, *words: str, code: int = 0) -> str:
        """What a command prints."""
        return self.call(*words, code=code).stdout

    def error(self, *words: str, code: int) -> str:
        """What a command that must fail says."""
        return self.call(*words, code=code).stderr

    def json(self, *words: str, code: int = 0) -> Any:
        """What a command answers in JSON."""
        return json.loads(self.text("--json", *words, code=code))

    @contextmanager
    def start(
        self, *words: str, stdin: int = subprocess.DEVNULL
    ) -> Iterator[subprocess.Popen[str]]:
        """Start the program; it does not outlive the test."""
        process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.folder,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell that runs tests in the background passes on that Ctrl-C is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def program(self, *words: str, piped: str | None = None) -> tuple[int, str, str]:
        """Run the program; answers its exit code and what it said."""
        stdin = subprocess.DEVNULL if piped is None else subprocess.PIPE
        with self.start(*words, stdin=stdin) as process:
            out, err = process.communicate(piped, timeout=WAIT_S)
        return process.returncode, out, err

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A server in the folder with the app of `shop.py`."""
        words = ("serve", "--port", "0", "--app", "shop:app", "--slots", "2", "--json")
        with self.start(*words) as process:
            assert process.stdout is not None
            facts = json.loads(process.stdout.readline())
            assert set(facts) == {"url", "pid", "data", "dashboard"}
            yield
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=WAIT_S)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in an empty folder, without a server."""
    for name in list(os.environ):
        if name.startswith("HEADWAY_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path)


@pytest.fixture
def served(cli: Cli) -> Iterator[Cli]:
    """The same with a server in the folder, which the command line finds by itself."""
    (cli.folder / "shop.py").write_text(APP)
    with cli.serving():
        yield cli
