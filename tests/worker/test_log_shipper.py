"""The log shipper: what it sends, and what it keeps when that is not taken."""

from pathlib import Path

import pytest

from headway.domain import errors
from headway.files import log_files
from headway.files.log_parts import LogFile, OutputBound
from headway.protocol.work_shapes import ItemAnswer, LogItem
from headway.worker.log_shipper import LogShipper

RUN = "01940000-0000-7000-8000-0000000000aa"


class Server:
    """Keeps what it is sent, unless it has a problem."""

    def __init__(self) -> None:
        self.log = b""
        self.away = False
        self.problem: str | None = None

    def send_logs(self, pieces: list[LogItem]) -> list[ItemAnswer]:
        if self.away:
            raise errors.Unavailable("it does not answer")
        return [self._take(piece) for piece in pieces]

    def _take(self, piece: LogItem) -> ItemAnswer:
        if self.problem is not None:
            return ItemAnswer(lease_id=piece.lease_id, ok=False, code=self.problem, detail="no")
        if piece.offset > len(self.log):
            return ItemAnswer(lease_id=piece.lease_id, ok=False, code="log_gap", size=len(self.log))
        self.log = self.log[: piece.offset] + piece.data
        return ItemAnswer(lease_id=piece.lease_id, ok=True, size=len(self.log))


def printed(data: Path, text: bytes) -> Path:
    """The log of a run that printed this."""
    path = log_files.path(data / log_files.folder(RUN), "stdout")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def test_all_of_a_long_output_is_sent_and_then_kept_no_longer(tmp_path: Path) -> None:
    server = Server()
    text = bytes(range(256)) * 10_000
    path = printed(tmp_path, text)
    shipper = LogShipper(server, tmp_path)
    shipper.flush([RUN])
    assert server.log == text
    shipper.forget(RUN)
    assert not path.exists()


def test_a_server_that_is_away_gets_it_later(tmp_path: Path) -> None:
    server = Server()
    printed(tmp_path, b"words\n")
    shipper = LogShipper(server, tmp_path)
    server.away = True
    with pytest.raises(errors.Unavailable):
        shipper.flush([RUN])
    server.away = False
    shipper.flush([RUN])
    assert server.log == b"words\n"


def test_a_server_that_lost_the_beginning_gets_it_again(tmp_path: Path) -> None:
    server = Server()
    path = printed(tmp_path, b"one\n")
    shipper = LogShipper(server, tmp_path)
    shipper.flush([RUN])
    server.log = b""
    path.write_bytes(b"one\ntwo\n")
    shipper.flush([RUN])
    assert server.log == b"one\ntwo\n"


@pytest.mark.parametrize("problem", ["unavailable", "lease_ended"])
def test_output_that_is_not_taken_stays_here_and_keeps_no_outcome_back(
    tmp_path: Path, problem: str
) -> None:
    server = Server()
    path = printed(tmp_path, b"words\n")
    shipper = LogShipper(server, tmp_path)
    server.problem = problem
    shipper.flush([RUN])
    shipper.forget(RUN)
    assert path.read_bytes() == b"words\n"


def test_a_log_that_cannot_be_read_keeps_no_outcome_back(tmp_path: Path) -> None:
    path = printed(tmp_path, b"")
    path.unlink()
    path.mkdir()  # opening it fails, whoever the tests run as
    shipper = LogShipper(Server(), tmp_path)
    shipper.flush([RUN])
    shipper.forget(RUN)
    assert path.exists()


def test_output_that_was_cut_before_it_was_sent_leaves_a_mark_there_too(tmp_path: Path) -> None:
    server = Server()
    path = printed(tmp_path, b"")
    bound = OutputBound(8 * 1024)
    file = LogFile(path, bound)
    file.write(b"first\n")
    shipper = LogShipper(server, tmp_path)
    shipper.flush([RUN])
    for number in range(10_000):
        file.write(b"%07d\n" % number)
    server.away = True
    with pytest.raises(errors.Unavailable):
        shipper.flush([RUN])
    server.away = False
    shipper.flush([RUN])
    file.write(b"last\n")
    shipper.flush([RUN])
    file.close()
    assert server.log.startswith(b"first\n0000000\n")
    assert b"bytes of output were cut here" in server.log
    assert server.log.endswith(b"0009999\nlast\n")
    assert len(server.log) < 10 * 1024
    shipper.forget(RUN)
    assert not path.parent.exists()
