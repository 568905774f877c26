"""How often other processes have written a file out to the disk, as strace sees it."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@contextmanager
def syncs(pid: int, file: str, trace: Path) -> Iterator[Callable[[], int]]:
    """Count how often a process, and those that it starts from here on, synced files like this."""
    calls = "trace=fsync,fdatasync"
    command = ["strace", "-f", "-y", "-e", calls, "-o", str(trace), "-p", str(pid)]
    synced = re.compile(rf"sync\(\d+<[^>]*{file}>\) += 0|sync resumed>\) += 0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        if "attached" not in said:
            pytest.skip(f"processes may not be traced here: {said.strip()}")
        try:
            yield lambda: len(synced.findall(trace.read_text()))
        finally:
            tracer.terminate()
