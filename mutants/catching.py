"""Runs what should catch a fault, and tells a caught fault from one that merely breaks the code."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from mutants.copies import Copy
from mutants.fault import Catcher, NamedTest, Simulation

MOST_S = 180.0
"""A catcher that takes longer has not caught anything."""

MOST_FOR_ALL_S = 1200.0
"""How long all tests together may take to pass."""

BROKEN_CODE = re.compile(
    r"\b(SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError"
    r"|AttributeError|TypeError|sqlite3\.OperationalError|sqlite3\.ProgrammingError)\b"
)
"""A fault that ends in one of these is no fault of behaviour: anything at all would notice it."""

FAILED_SEED = re.compile(r"^seed (\d+) failed: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """What a catcher said: nothing was wrong, something was, or it could not tell."""

    passed: bool
    failed: bool
    detail: str
    seconds: float


def run(copy: Copy, catcher: Catcher) -> Seen:
    """Run one catcher in a copy."""
    if isinstance(catcher, Simulation):
        return _simulate(copy, catcher)
    return _test(copy, [catcher.node], postgres=catcher.postgres)


def run_tests(copy: Copy, tests: Sequence[NamedTest], *, postgres: bool) -> Seen:
    """Run many tests at once, to see that they pass."""
    nodes = [one.node for one in tests]
    return _test(copy, nodes, postgres=postgres, most_s=MOST_FOR_ALL_S)


def _test(copy: Copy, nodes: Sequence[str], *, postgres: bool, most_s: float = MOST_S) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-x", f"--junitxml={report}", *nodes]
        if not postgres:
            command += ["-k", "not postgres"]
        code, said, seconds = _run(copy, command, most_s)
        failures = _failures(report) if report.exists() else []
    return judge_test(code, failures, said, seconds)


def judge_test(code: int, failures: Sequence[str], said: str, seconds: float) -> Seen:
    """What a run of pytest says, by its exit code, the failed tests and its output."""
    if code == 0:
        return Seen(True, False, "", seconds)
    problem = next((text for text in failures if BROKEN_CODE.search(text)), None)
    if code != 1 or not failures or problem is not None:
        return Seen(False, False, _last_line(problem or said), seconds)
    return Seen(False, True, _first_line(failures[0]), seconds)


def _failures(report: Path) -> list[str]:
    """What failed in the tests themselves; an error around a test counts for nothing."""
    return [one.get("message", "") for one in ElementTree.parse(report).iter("failure")]


def _simulate(copy: Copy, plays: Simulation) -> Seen:
    command = [sys.executable, "-m", "tests.simulation", "--seeds", str(plays.seeds), "--stop"]
    return judge_plays(*_run(copy, command))


def judge_plays(code: int, said: str, seconds: float) -> Seen:
    """What some plays say, by their exit code and output."""
    found = FAILED_SEED.search(said)
    if code == 0:
        return Seen(True, False, "", seconds)
    if found is None or BROKEN_CODE.search(found[2]):
        return Seen(False, False, _last_line(said), seconds)
    return Seen(False, True, f"seed {found[1]}: {found[2]}", seconds)


def _run(copy: Copy, command: Sequence[str], most_s: float = MOST_S) -> tuple[int, str, float]:
    """Run a command on the copy's sources: exit code, output, seconds."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(copy.root / "src"), str(copy.root))),
        "PYTHONHASHSEED": "0",
    }
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=copy.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=most_s,
            check=False,
        )
        code, said = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, said = -1, f"it took longer than {most_s:g} s"
    return code, said, time.monotonic() - began


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:200]
