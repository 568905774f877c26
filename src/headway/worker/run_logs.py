"""The log files of a run, and how what a handler prints finds its way there."""

import contextlib
import contextvars
import io
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO

from headway.files import log_files
from headway.files.log_parts import LogFile, OutputBound

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_current: contextvars.ContextVar["RunLog | None"] = contextvars.ContextVar("run_log", default=None)


class RunLog:
    """`stdout.log` and `stderr.log` of one run, opened when something is written."""

    __slots__ = ("_bound", "_closed", "_directory", "_files", "_lock")

    def __init__(self, directory: Callable[[], Path], bound: OutputBound) -> None:
        self._directory = directory
        self._bound = bound
        self._files: dict[str, TextIO] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def write(self, stream: Stream, text: str) -> int:
        """Append text; each full line is on its way to readers at once."""
        with self._lock:
            written = self._file(stream).write(text)
            if self._closed:
                # A task that outlived its run still prints: keep it, but leave nothing open.
                self._close_files()
        return written

    def flush(self) -> None:
        """Hand unfinished lines over too."""
        with self._lock:
            for file in (self._files or {}).values():
                file.flush()

    def buffer(self, stream: Stream) -> BinaryIO:
        """The file behind a stream, for code that prints bytes."""
        with self._lock:
            return self._file(stream).buffer

    def close(self) -> None:
        """End of the run; what was never opened costs nothing here."""
        self._closed = True
        if self._files is not None:
            with self._lock:
                self._close_files()

    def _file(self, stream: Stream) -> TextIO:
        if self._files is None:
            self._files = {}
        if stream not in self._files:
            path = log_files.path(self._directory(), stream)
            # Line buffering, and a character that has no bytes must not fail a print.
            self._files[stream] = io.TextIOWrapper(
                io.BufferedWriter(_Raw(LogFile(path, self._bound))),
                encoding="utf-8",
                errors="backslashreplace",
                line_buffering=True,
            )
        return self._files[stream]

    def _close_files(self) -> None:
        files, self._files = self._files or {}, None
        with contextlib.ExitStack() as both:  # one that fails does not keep the other open
            for file in files.values():
                both.callback(file.close)


class _Raw(io.RawIOBase):
    """A log file as Python's own layers write to it."""

    def __init__(self, file: LogFile) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(bytes(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._file.close()


def route(log: RunLog | None) -> None:
    """From here on, in this context, prints belong to this run."""
    _current.set(log)


def leave(log: RunLog) -> None:
    """The run is over: what is printed from here on belongs to no run."""
    _current.set(None)
    log.close()


def capture() -> None:
    """Make prints and log records of handlers go to their run's files; safe to call again."""
    if not isinstance(sys.stdout, _RoutedStream):
        sys.stdout = _RoutedStream("stdout", sys.stdout)
    if not isinstance(sys.stderr, _RoutedStream):
        sys.stderr = _RoutedStream("stderr", sys.stderr)
    if not any(isinstance(handler, _RoutedRecords) for handler in logging.root.handlers):
        logging.root.addHandler(_RoutedRecords())


class _RoutedStream(io.TextIOBase):
    """Stands in for `sys.stdout` or `sys.stderr`: the run's file, or the real stream."""

    def __init__(self, stream: Stream, real: TextIO) -> None:
        self._stream = stream
        self._real = real

    def write(self, text: str) -> int:
        log = _current.get()
        return self._real.write(text) if log is None else log.write(self._stream, text)

    def flush(self) -> None:
        log = _current.get()
        if log is None:
            self._real.flush()
        else:
            log.flush()

    @property
    def buffer(self) -> BinaryIO:
        log = _current.get()
        return self._real.buffer if log is None else log.buffer(self._stream)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._real.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._real.errors

    def isatty(self) -> bool:
        return _current.get() is None and self._real.isatty()

    def fileno(self) -> int:
        return self._real.fileno()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """The real stream belongs to the process, not to a handler."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _RoutedRecords(logging.Handler):
    """Sends log records made inside a run to that run's stderr log."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(LOG_FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        log = _current.get()
        if log is None:
            self._emit_outside(record)
        elif not _is_printed_anyway():
            try:
                log.write("stderr", f"{self.format(record)}\n")
            except Exception:
                self.handleError(record)

    def _emit_outside(self, record: logging.LogRecord) -> None:
        """Keep Python's last resort, which our mere presence would switch off."""
        last = logging.lastResort
        if last is not None and logging.root.handlers == [self] and record.levelno >= last.level:
            last.handle(record)


def _is_printed_anyway() -> bool:
    """Whether another root handler writes through a routed stream: one line is enough."""
    return any(
        isinstance(getattr(handler, "stream", None), _RoutedStream)
        for handler in logging.root.handlers
    )
