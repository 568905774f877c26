"""How much of a run's output is kept, and what is done when the disk is nearly full."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.worker.executor_helpers import make_work, run

from headway.domain.runs import RunStatus
from headway.files import log_files
from headway.files.log_parts import LogFile, OutputBound, cut_mark, lost_mark, parts
from headway.worker.executors.children import Nursery
from headway.worker.executors.commands import CommandExecutor
from headway.worker.guard import Guard
from headway.worker.run_logs import RunLog

KIB = 1024
MIB = 1024 * KIB


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    guard = Guard()
    yield Nursery(guard, bound=OutputBound(MIB))
    guard.close()


class Disk:
    """A disk whose free space a test decides."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.free = size

    def statvfs(self, _: object) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=self.free, f_frsize=1, f_blocks=self.size)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(100 * MIB)
    monkeypatch.setattr(os, "statvfs", disk.statvfs)
    monkeypatch.setattr("headway.files.log_parts.LOOK_AGAIN_S", 0.0)
    return disk


def numbered(count: int) -> bytes:
    """Lines that tell their place."""
    return b"".join(b"%07d\n" % number for number in range(count))


def printed(path: Path, bound: OutputBound, text: bytes, piece: int = 100) -> None:
    with contextlib.closing(LogFile(path, bound)) as file:
        for at in range(0, len(text), piece):
            file.write(text[at : at + piece])


def everything(path: Path) -> bytes:
    """What a reader gets who reads to the end."""
    found, offset = b"", 0
    while (piece := log_files.read_from(path, offset, 1000)).data:
        found, offset = found + piece.data, piece.end
    return found


def kept(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.log"))


def test_a_log_within_its_bound_is_whole(tmp_path: Path) -> None:
    path, text = tmp_path / "stdout.log", numbered(1000)
    printed(path, OutputBound(8 * KIB), text)
    assert everything(path) == text
    assert len(parts(path)) == 8


def test_of_a_longer_log_the_beginning_and_the_end_are_kept_and_the_cut_is_marked(
    tmp_path: Path,
) -> None:
    path, text = tmp_path / "stdout.log", numbered(10_000)
    printed(path, OutputBound(8 * KIB), text)
    assert kept(tmp_path) <= 8 * KIB
    found = everything(path)
    first, _, last = found.partition(b"\n[headway:")
    rest = last.partition(b"]\n")[2]
    assert text.startswith(first)
    assert text.endswith(rest)
    assert len(rest) >= 5 * KIB
    assert cut_mark(len(text) - len(first) - len(rest)) in found
    assert log_files.size(path) == len(text)


def test_both_logs_of_a_run_share_the_bound(tmp_path: Path) -> None:
    bound = OutputBound(8 * KIB)
    printed(tmp_path / "stderr.log", bound, numbered(200))
    printed(tmp_path / "stdout.log", bound, numbered(10_000))
    assert kept(tmp_path) <= 8 * KIB
    assert everything(tmp_path / "stderr.log") == numbered(200)


def test_a_follower_who_is_overtaken_goes_on_behind_the_cut(tmp_path: Path) -> None:
    path, bound = tmp_path / "stdout.log", OutputBound(8 * KIB)
    printed(path, bound, numbered(500))
    place = log_files.read_from(path, 2000, 100).end
    printed(path, bound, numbered(5000))
    piece = log_files.read_from(path, place, 100)
    assert piece.data == cut_mark(piece.end - place)
    assert log_files.read_from(path, piece.end, 8).data


def test_the_last_lines_are_found_across_files_and_cuts(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    printed(path, OutputBound(8 * KIB), numbered(10_000))
    assert log_files.read_tail(path, 300) == numbered(10_000)[-8 * 300 :]
    assert log_files.read_tail(path, 100_000) == everything(path)


def test_a_log_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    path, bound = tmp_path / "stdout.log", OutputBound(8 * KIB)
    for _ in range(4):
        printed(path, bound, numbered(200))
    assert everything(path) == numbered(200) * 4


def test_output_never_takes_what_is_reserved_on_the_disk(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    path, bound = tmp_path / "stdout.log", OutputBound(MIB, reserve=10 * MIB)
    file = LogFile(path, bound)
    before = b"x" * 100_000
    file.write(before)
    disk.free = 10 * MIB
    file.write(b"x" * 100)
    file.write(b"y" * 50)
    assert path.read_bytes() == before
    disk.free = 50 * MIB
    file.write(b"after\n")
    file.close()
    assert path.read_bytes() == before + lost_mark(150) + b"after\n"
    assert ["is cut" in one for one in caplog.messages] == [True]


def test_a_run_that_printed_little_may_use_half_of_the_reserve(tmp_path: Path, disk: Disk) -> None:
    bound = OutputBound(MIB, reserve=10 * MIB)
    disk.free = 6 * MIB
    printed(tmp_path / "stdout.log", bound, b"words\n")
    assert everything(tmp_path / "stdout.log") == b"words\n"
    disk.free = 5 * MIB
    printed(tmp_path / "stdout.log", bound, b"more\n")
    assert everything(tmp_path / "stdout.log") == b"words\n" + lost_mark(5)


def test_a_loud_run_on_a_full_disk_gives_up_its_own_middle(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statvfs(_: object) -> SimpleNamespace:
        disk.free = 10 * MIB + 512 * KIB - kept(tmp_path)
        return disk.statvfs(_)

    monkeypatch.setattr(os, "statvfs", statvfs)
    path, text = tmp_path / "stdout.log", numbered(100_000)
    printed(path, OutputBound(MIB, reserve=10 * MIB), text, piece=4000)
    assert kept(tmp_path) <= 512 * KIB
    assert everything(path).endswith(text[-128 * KIB :])


def test_a_loss_at_the_end_is_marked_all_the_same(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "stdout.log"
    disk.free = 0
    printed(path, OutputBound(MIB), b"words")
    assert path.read_bytes() == lost_mark(5)


def test_of_a_small_disk_a_quarter_is_reserved(tmp_path: Path, disk: Disk) -> None:
    disk.size = disk.free = 20 * MIB
    bound = OutputBound(reserve=256 * MIB)
    assert bound.has_room(tmp_path, MIB)
    disk.free = 5 * MIB
    assert not bound.has_room(tmp_path, MIB)


def test_a_log_that_cannot_be_written_fails_no_print(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way of the folder")
    log = RunLog(lambda: tmp_path / "run", OutputBound())
    log.write("stdout", "lost\n")
    (tmp_path / "run").unlink()
    log.write("stdout", "kept\n")
    log.close()
    assert (tmp_path / "run" / "stdout.log").read_bytes() == lost_mark(5) + b"kept\n"


def test_a_command_that_prints_without_end_keeps_the_bound(
    nursery: Nursery, tmp_path: Path
) -> None:
    script = "for number in range(1_000_000): print(f'{number:07}')"
    work = make_work(tmp_path, "command", {"argv": [sys.executable, "-c", script]})
    outcome = run(CommandExecutor(nursery, lambda _: tmp_path), work)
    assert outcome.status is RunStatus.COMPLETED
    assert kept(work.log_dir) <= MIB
    assert log_files.read_tail(work.log_dir / "stdout.log", 1) == b"0999999\n"
    assert b"bytes of output were cut here" in everything(work.log_dir / "stdout.log")


def test_what_a_leftover_of_a_command_prints_last_is_kept(nursery: Nursery, tmp_path: Path) -> None:
    leftover = "(trap 'echo ended; exit' TERM; touch ready; while :; do sleep 0.05; done) &"
    wait = "while [ ! -f ready ]; do sleep 0.01; done; echo leader"
    work = make_work(tmp_path, "command", {"argv": ["sh", "-c", f"{leftover} {wait}"]})
    assert run(CommandExecutor(nursery, lambda _: tmp_path), work).exit_code == 0
    assert everything(work.log_dir / "stdout.log") == b"leader\nended\n"
