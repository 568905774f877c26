"""Copies of the repository in which faults are planted; the repository itself is never touched."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from mutants.fault import Fault

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")


class Copy:
    """One copy, used by one process at a time."""

    def __init__(self, root: Path) -> None:
        shutil.copytree(ROOT, root, ignore=LEFT_OUT)
        self.root = root
        self._planted = 0

    @contextlib.contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """The copy has the fault inside `with`, and is as it was afterwards.

        Each state of a file has a time of its own: Python keeps compiled files by time and size.
        """
        path = self.root / fault.path
        sound, times = path.read_text(encoding="utf-8"), path.stat()
        self._planted += 1
        path.write_text(fault.plant(sound), encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + self._planted))
        try:
            yield
        finally:
            path.write_text(sound, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))
