"""SQLite is refused on network file systems."""

from pathlib import Path

import pytest
from tests.helpers import MovableClock

from headway.domain import errors
from headway.storage.sqlite import file_systems
from headway.storage.sqlite.database import SqliteDatabase

LINE = "36 35 0:42 / {place} rw,noatime shared:1 master:2 - {kind} server:/share rw,vers=4.2"


def mount(monkeypatch: pytest.MonkeyPatch, folder: Path, mounted: dict[Path, str]) -> None:
    """Let the system say that these are mounted."""
    lines = [LINE.format(place="/", kind="ext4")]
    for place, kind in mounted.items():
        lines.append(LINE.format(place=str(place).replace(" ", "\\040"), kind=kind))
    mounts = folder / "mountinfo"
    mounts.write_text("\n".join(lines))
    monkeypatch.setattr(file_systems, "MOUNTS", mounts)


def check(folder: Path) -> None:
    SqliteDatabase(folder / "headway.db", MovableClock()).check()


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "fuse.sshfs", "ceph"])
def test_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mount(monkeypatch, tmp_path, {tmp_path / "my share": kind})
    with pytest.raises(errors.NetworkFileSystem, match=rf"network file system \({kind}\)"):
        check(tmp_path / "my share" / "data")
    check(tmp_path / "my share beside")


def test_the_nearest_mount_decides_and_of_several_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share, disk = tmp_path / "share", tmp_path / "share" / "disk"
    mount(monkeypatch, tmp_path, {share: "nfs4", disk: "xfs"})
    check(disk)
    with pytest.raises(errors.NetworkFileSystem):
        check(share)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"{mounts.read_text()}\n{LINE.format(place=disk, kind='cifs')}")
    with pytest.raises(errors.NetworkFileSystem):
        check(disk)


def test_a_link_to_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "share")
    mount(monkeypatch, tmp_path, {tmp_path / "share": "nfs4"})
    with pytest.raises(errors.NetworkFileSystem):
        check(tmp_path / "link")


def test_a_system_that_does_not_tell_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "missing")
    check(tmp_path)


def test_what_this_system_says_can_be_read(tmp_path: Path) -> None:
    check(tmp_path)
