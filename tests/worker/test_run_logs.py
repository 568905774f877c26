"""Where the output of a run goes, and how it is read."""

import contextlib
import contextvars
import io
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.files import log_files
from headway.files.log_parts import OutputBound
from headway.worker import run_logs
from headway.worker.run_logs import RunLog


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Captured output, with a text in memory for the real stdout and stderr.

    No fixture: pytest puts its own streams back between a fixture and its test.
    """
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        patch.setattr(logging.root, "handlers", [])
        run_logs.capture()
        yield stream


def inside(log: RunLog, action: Callable[[], None]) -> None:
    """Do something as a handler of the run would, then end the run."""

    def act() -> None:
        run_logs.route(log)
        action()

    contextvars.copy_context().run(act)
    log.close()


def test_prints_inside_a_run_go_to_its_files(tmp_path: Path) -> None:
    with captured() as real:

        def act() -> None:
            print("out")
            print("err", file=sys.stderr)

        inside(RunLog(lambda: tmp_path, OutputBound()), act)
        assert (tmp_path / "stdout.log").read_text() == "out\n"
        assert (tmp_path / "stderr.log").read_text() == "err\n"
        assert real.getvalue() == ""


def test_prints_outside_a_run_go_to_the_real_stream(tmp_path: Path) -> None:
    with captured() as real:
        inside(RunLog(lambda: tmp_path, OutputBound()), lambda: None)
        print("outside")
        assert real.getvalue() == "outside\n"


def test_a_run_that_prints_nothing_opens_no_file(tmp_path: Path) -> None:
    with captured():
        inside(RunLog(lambda: tmp_path / "run", OutputBound()), lambda: None)
        assert not (tmp_path / "run").exists()


def test_each_line_can_be_read_before_the_run_ends(tmp_path: Path) -> None:
    with captured():

        def act() -> None:
            print("first")
            assert (tmp_path / "stdout.log").read_text() == "first\n"

        inside(RunLog(lambda: tmp_path, OutputBound()), act)


def test_bytes_can_be_printed_too(tmp_path: Path) -> None:
    with captured():
        inside(
            RunLog(lambda: tmp_path, OutputBound()),
            lambda: print(sys.stdout.buffer.write(b"\xff\x00")),
        )
        assert b"\xff\x00" in (tmp_path / "stdout.log").read_bytes()


def test_half_a_character_does_not_fail_a_print(tmp_path: Path) -> None:
    with captured():
        inside(RunLog(lambda: tmp_path, OutputBound()), lambda: print("\ud800"))
        assert (tmp_path / "stdout.log").read_text() == "\\ud800\n"


def test_what_is_printed_after_the_end_is_kept(tmp_path: Path) -> None:
    log = RunLog(lambda: tmp_path, OutputBound())
    log.write("stdout", "during\n")
    log.close()
    log.write("stdout", "after\n")
    assert (tmp_path / "stdout.log").read_text() == "during\nafter\n"


def test_log_records_inside_a_run_go_to_its_stderr(tmp_path: Path) -> None:
    with captured() as real:
        inside(
            RunLog(lambda: tmp_path, OutputBound()),
            lambda: logging.getLogger("author").warning("ink is low"),
        )
        assert "WARNING author: ink is low\n" in (tmp_path / "stderr.log").read_text()
        assert real.getvalue() == ""


def test_a_record_is_written_once_when_another_handler_prints_it(tmp_path: Path) -> None:
    with captured():
        logging.root.addHandler(logging.StreamHandler())
        inside(
            RunLog(lambda: tmp_path, OutputBound()),
            lambda: logging.getLogger("author").warning("ink is low"),
        )
        assert (tmp_path / "stderr.log").read_text() == "ink is low\n"


def test_records_outside_a_run_still_reach_a_person() -> None:
    with captured() as real:
        logging.getLogger("author").info("not shown by default")
        logging.getLogger("author").warning("ink is low")
        assert real.getvalue() == "ink is low\n"


def test_capturing_twice_changes_nothing(tmp_path: Path) -> None:
    with captured():
        run_logs.capture()
        inside(
            RunLog(lambda: tmp_path, OutputBound()),
            lambda: logging.getLogger("author").warning("ink is low"),
        )
        assert (tmp_path / "stderr.log").read_text().count("ink is low") == 1


def test_runs_made_at_the_same_time_get_different_buckets() -> None:
    first = log_files.folder("01940000-0000-7000-8000-0000000000aa")
    second = log_files.folder("01940000-0000-7000-8000-0000000000bb")
    assert first.split("/")[1] == "aa"
    assert second.split("/")[1] == "bb"


def test_a_log_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_bytes(b"0123456789")
    assert log_files.read_from(path, 0, 4).data == b"0123"
    assert log_files.read_from(path, 8, 4).data == b"89"
    assert log_files.read_from(path, 10, 4).data == b""


def test_a_log_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert log_files.read_from(tmp_path / "stdout.log", 0, 4).data == b""
    assert log_files.read_tail(tmp_path / "stdout.log", 4) == b""


@pytest.mark.parametrize(
    ("text", "lines", "tail"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\n", 5, b"a\nb\n"),
        (b"a\n\n", 1, b"\n"),
        (b"50%\r60%\n", 1, b"50%\r60%\n"),
        (b"a\n", 0, b""),
        (b"", 3, b""),
    ],
)
def test_the_tail_is_the_last_lines(tmp_path: Path, text: bytes, lines: int, tail: bytes) -> None:
    path = tmp_path / "stdout.log"
    path.write_bytes(text)
    assert log_files.read_tail(path, lines) == tail


def test_the_tail_of_a_long_log_is_found_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(50_000)))
    assert log_files.read_tail(path, 20_000).startswith(b"line 30000\n")


def test_the_tail_of_one_endless_line_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_bytes(b"x" * (log_files.TAIL_LIMIT + 1_000_000))
    assert len(log_files.read_tail(path, 1)) == log_files.TAIL_LIMIT
