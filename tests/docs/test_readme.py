"""The README's tour is taken, block by block, and says what the README shows."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import pytest
from tests.docs.fences import ROOT, Block, blocks, missing_line
from tests.servers import WAIT_S, wait_for

LONGEST_BLOCK_S = 120


class Tourist:
    """Somebody with two terminals: one for the server, one for everything else."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"
        self._said = folder / "said.txt"
        self._server_log = folder / "server.log"
        self._server: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._exports = ""
        self._environment = {
            **{name: text for name, text in os.environ.items() if "HEADWAY_" not in name},
            "HEADWAY_DATA": str(self._data),
            "HEADWAY_PORT": "0",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def take(self, block: Block) -> str:
        """Type what a block says; answers what the terminal shows."""
        if block.info.endswith("server"):
            self._serve(block.text)
            return ""
        if block.text.startswith("export "):
            self._exports += block.text
        text = block.text.replace("127.0.0.1:4929", self._address)
        return self._type(text.replace(".headway/", f"{self._data}/"))

    def _type(self, text: str) -> str:
        with self._said.open("wb") as output:
            process = self._start(self._exports + text, output)
        try:
            assert process.wait(LONGEST_BLOCK_S) == 0, f"{text}\n{self._said.read_text()}"
        finally:
            _end(process)
        return self._said.read_text()

    def _serve(self, text: str) -> None:
        if self._server is not None:
            self._server.wait(WAIT_S)
        with self._server_log.open("ab") as output:
            self._server = self._start(f"exec {text}", output)
        self._address = wait_for(self._ready_at, "a server that is ready")

    def _ready_at(self) -> str | None:
        """Where the server is, once it is there."""
        assert self._server is not None
        assert self._server.poll() is None, self._server_log.read_text()
        try:
            found = json.loads((self._data / "server.json").read_text())
            if found["pid"] != self._server.pid:
                return None
            ready = httpx.get(f"{found['url']}/readyz").status_code == 200
        except (OSError, ValueError, httpx.HTTPError):
            return None
        return str(found["url"]).removeprefix("http://") if ready else None

    def _start(self, text: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def leave(self) -> None:
        """Close both terminals."""
        if self._server is not None:
            _end(self._server)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a terminal with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait(WAIT_S)


@pytest.fixture
def tourist(tmp_path: Path) -> Iterator[Tourist]:
    """A tourist who has not seen anything yet."""
    made = Tourist(tmp_path)
    yield made
    made.leave()


@pytest.mark.timeout(900)
def test_every_step_of_the_tour_shows_what_the_readme_says(tourist: Tourist) -> None:
    said = ""
    for block in blocks(ROOT / "README.md"):
        if block.info == "text":
            line = missing_line(block.text, said)
            assert line is None, f"the README shows {line!r}, but this was said:\n{said}"
        elif block.info.startswith("bash"):
            said = tourist.take(block)


def test_the_two_commands_of_the_readme_are_there() -> None:
    named = [block.text for block in blocks(ROOT / "README.md") if block.info == "console"]
    scripts = [line.split()[1] for line in named[0].splitlines()]
    assert scripts == ["script/server", "script/test"]
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
