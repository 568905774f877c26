"""On which file system a folder is. SQLite needs locks and shared memory that work."""

import os
import re
from pathlib import Path

from headway.domain import errors

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ceph", "coda", "glusterfs"),
        *("lustre", "gpfs", "beegfs", "ocfs2", "gfs2", "orangefs", "pvfs2", "davfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.davfs2"),
        *("fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.juicefs", "fuse.moosefs"),
    }
)

_ESCAPED = re.compile(r"\\([0-7]{3})")


def refuse_network(folder: Path) -> None:
    """Refuse a folder on a network file system, as far as the system tells (Linux does)."""
    kind = _kind(os.path.realpath(folder))
    if kind in NETWORK:
        raise errors.NetworkFileSystem(str(folder), kind)


def _kind(folder: str) -> str:
    """The type of the file system that is mounted nearest above, the last one if several are."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    found = ("", "")
    for line in lines:
        place, kind = _read(line)
        inside = folder == place or folder.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]


def _read(line: str) -> tuple[str, str]:
    """Mount point and type of one line; the fields between them vary in number."""
    before, _, after = line.partition(" - ")
    place = before.split(" ")[4]
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), place), after.split(" ")[0]
