"""The logs of a data directory in one tar file, while runs go on writing to them."""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from headway.files import private_files

LOGS = "logs"


def write(data: Path, target: Path) -> int:
    """Write all logs to a file that replaces the target; return how many runs they are of."""
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    runs: set[Path] = set()
    try:
        with (
            open(partial, "wb", opener=private_files.opener) as file,
            tarfile.open(fileobj=file, mode="w") as archive,
        ):
            for log in _files(data / LOGS):
                if _add(archive, data, log):
                    runs.add(log.parent)
            archive.close()
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return len(runs)


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield Path(here, name)


def _add(archive: tarfile.TarFile, data: Path, log: Path) -> bool:
    """Add a file as long as it is now; False if it has been collected meanwhile."""
    try:
        file = log.open("rb")
    except FileNotFoundError:
        return False
    with file:
        entry = archive.gettarinfo(arcname=str(log.relative_to(data)), fileobj=file)
        archive.addfile(entry, _AsLongAs(file, entry.size))
    return True


class _AsLongAs(io.RawIOBase):
    """A file that was so long; where it was cut meanwhile, empty lines make up for the rest."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        wanted = self._left if size < 0 else min(size, self._left)
        self._left -= wanted
        found = self._file.read(wanted)
        return found + b"\n" * (wanted - len(found))
