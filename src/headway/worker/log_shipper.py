"""The log shipper: sends what runs print to a server on another machine, while they run.

The output goes to files here first, so a run never waits for the network and nothing piles up in
memory. What is left is sent before the outcome is reported: after that the lease is gone.
"""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from headway.domain import errors
from headway.files import log_files
from headway.protocol.work_shapes import ItemAnswer, LogItem
from headway.worker.run_logs import STREAMS, Stream

EVERY_S = 0.5
MOST_PER_PIECE = 192 * 1024
MOST_PER_CALL = 768 * 1024

log = logging.getLogger("headway.worker")


class LogTransport(Protocol):
    """Sends pieces of output."""

    def send_logs(self, pieces: list[LogItem]) -> list[ItemAnswer]:
        """Send pieces; each is answered for itself."""


class _Sent(NamedTuple):
    """How far a log was sent: its length at the server, and where that is in the log here.

    They differ once output was cut here before it could be sent: a mark took its place.
    """

    there: int = 0
    here: int = 0

    def moved(self, there: int) -> "_Sent":
        """The place that belongs to another length at the server."""
        return _Sent(there, max(0, self.here + there - self.there))


class _Piece(NamedTuple):
    """A piece to send, and what was sent if the server takes all of it."""

    item: LogItem
    then: _Sent


class LogShipper:
    """A thread for runs that go on, and `flush` for those that have ended."""

    def __init__(self, way: LogTransport, data: Path) -> None:
        self._way = way
        self._data = data
        self._running: Callable[[], Collection[str]] = lambda: ()
        self._sent: dict[tuple[str, Stream], _Sent] = {}
        self._refused: set[str] = set()
        self._lock = threading.Lock()
        self._poke = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headway-logs", daemon=True)

    def start(self, running: Callable[[], Collection[str]]) -> None:
        """Begin to send the output of these runs."""
        self._running = running
        self._thread.start()

    def wake(self) -> None:
        """There is a run."""
        if not self._poke.is_set():
            self._poke.set()

    def close(self) -> None:
        """Stop sending."""
        self._stopping.set()
        self._poke.set()
        self._thread.join()

    def flush(self, run_ids: Collection[str]) -> None:
        """Send all that these runs have printed, as far as the server takes it.

        `Unavailable` means that it is away; their outcomes have to wait for it as well.
        """
        while self._send(run_ids):
            pass

    def forget(self, run_id: str) -> None:
        """The run is over. What was sent as a whole needs to be kept here no longer."""
        self._refused.discard(run_id)
        directory = self._directory(run_id)
        if directory is None:
            return
        sent = [self._sent.pop((run_id, stream), _Sent()).here for stream in STREAMS]
        if sent == [log_files.size(log_files.path(directory, stream)) for stream in STREAMS]:
            shutil.rmtree(directory, ignore_errors=True)

    def has_output(self, run_id: str) -> bool:
        """Whether the run printed anything."""
        return self._directory(run_id) is not None

    def _directory(self, run_id: str) -> Path | None:
        """The run's files; most short runs have none, and this is asked for each."""
        directory = f"{self._data}/{log_files.folder(run_id)}"
        return Path(directory) if os.path.isdir(directory) else None

    def _loop(self) -> None:
        while not self._stopping.is_set():
            self._poke.wait()
            if not (run_ids := self._running()):
                self._poke.clear()
                # A run that came in this moment has poked in vain.
                run_ids = self._running()
            try:
                more = self._send(run_ids)
            except errors.Unavailable as error:
                log.info("output waits for the scheduler: %s", error)
                more = False
            except Exception:
                log.exception("output could not be sent; it will be tried again")
                more = False
            self._stopping.wait(0.01 if more else EVERY_S)

    def _send(self, run_ids: Collection[str]) -> bool:
        """One call with what these runs have printed; False when nothing came of it."""
        with self._lock:
            pieces = list(self._pieces(run_ids))
            if not pieces:
                return False
            try:
                answers = self._way.send_logs([piece.item for piece in pieces])
            except errors.Unavailable:
                raise
            except errors.HeadwayError as error:
                log.warning("output is refused: %s", error)
                self._refused.update(piece.item.lease_id for piece in pieces)
                return True
            goes_on = [self._take(*pair) for pair in zip(pieces, answers, strict=True)]
            return any(goes_on)

    def _take(self, piece: _Piece, answer: ItemAnswer) -> bool:
        """Whether to go on: not when the server cannot write just now."""
        item = piece.item
        if answer.size is not None:  # also when a server has less than was sent to another one
            before = self._sent.get((item.lease_id, item.stream), _Sent())
            taken = answer.size == piece.then.there
            self._sent[item.lease_id, item.stream] = (
                piece.then if taken else before.moved(answer.size)
            )
            return True
        log.warning("output of run %s is not taken: %s", item.lease_id, answer.detail)
        if answer.code == errors.Unavailable.code:
            return False
        self._refused.add(item.lease_id)
        return True

    def _read(self, run_id: str, path: Path, offset: int, size: int) -> log_files.Piece:
        """A log that cannot be read must not delay its run's outcome, nor other logs."""
        try:
            return log_files.read_from(path, offset, size)
        except OSError as error:
            log.warning("output of run %s cannot be read: %s", run_id, error)
            self._refused.add(run_id)
            return log_files.Piece(b"", offset)

    def _pieces(self, run_ids: Collection[str]) -> Iterator[_Piece]:
        room = MOST_PER_CALL
        for run_id in run_ids:
            directory = self._directory(run_id)
            if directory is None or run_id in self._refused:
                continue
            for stream in STREAMS:
                sent = self._sent.get((run_id, stream), _Sent())
                size = min(MOST_PER_PIECE, room)
                found = self._read(run_id, log_files.path(directory, stream), sent.here, size)
                if found.data:
                    room -= len(found.data)
                    item = LogItem(
                        lease_id=run_id, stream=stream, offset=sent.there, data=found.data
                    )
                    yield _Piece(item, _Sent(sent.there + len(found.data), found.end))
                if room <= 0:
                    return
