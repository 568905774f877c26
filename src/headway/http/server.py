"""The server process: everything that serves, started and stopped in order."""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.middleware.gzip import GZipMiddleware

from headway import log_lines
from headway.domain import errors
from headway.http import connections
from headway.http.application import Application, ServerState
from headway.http.connections import Connection, Connections
from headway.http.dashboard import Codes
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery
from headway.scheduler.upkeep.courier import Courier
from headway.scheduler.upkeep.janitor import Janitor
from headway.scheduler.upkeep.recovery import Recovered
from headway.scheduler.upkeep.timekeeper import Timekeeper
from headway.worker.loop import Worker

READ_WITHIN_S = 30.0
"""How long the connection of a client that does not read what it asked for is kept."""

COMPRESSION = 4
"""Twice as fast as the highest level, for answers that are a few percent larger."""

log = logging.getLogger("headway.server")


class Server:
    """One `headway serve`."""

    def __init__(
        self,
        scheduler: Scheduler,
        worker: Worker,
        *,
        grace_s: float,
        allowed_hosts: tuple[str, ...],
        max_connections: int,
    ) -> None:
        self._scheduler = scheduler
        self._worker = worker
        self._grace_s = grace_s
        self._most_connections = connections.most_allowed(max_connections)
        self._state = ServerState()
        self._codes = Codes(scheduler)
        self._timekeeper = Timekeeper(scheduler)
        self._courier = Courier(scheduler)
        self._janitor = Janitor(scheduler)
        self.application = Application(
            scheduler,
            worker=worker,
            state=self._state,
            allowed_hosts=allowed_hosts,
            codes=self._codes,
            connections=self._most_connections,
        )
        self._signals = 0

    def dashboard_code(self) -> str:
        """A one-time code for the dashboard."""
        return self._codes.issue()

    def run(self, listening: socket.socket, started: Callable[[], None]) -> None:
        """Serve until a signal asks to stop."""
        self._timekeeper.start()
        self._courier.start()
        self._janitor.start()
        self._worker.start()
        self._state.ready = True
        config = uvicorn.Config(
            GZipMiddleware(self.application, minimum_size=2000, compresslevel=COMPRESSION),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:  # uvloop's
            runner.run(self._serve(config, listening, started))

    async def _serve(
        self, config: uvicorn.Config, listening: socket.socket, started: Callable[[], None]
    ) -> None:
        server = _Uvicorn(config, listening, self._most_connections)
        loop = asyncio.get_running_loop()
        asked = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, asked)
        serving = asyncio.create_task(server.serve())
        waiting = asyncio.create_task(asked.wait())
        started()
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await self._wind_down()
        server.should_exit = True
        await serving

    def _on_signal(self, asked: asyncio.Event) -> None:
        self._signals += 1
        if self._signals > 1:
            log.warning("stopping now")
            os._exit(1)
        log.info("stopping: running jobs have %g s to end; signal again to stop now", self._grace_s)
        asked.set()

    async def _wind_down(self) -> None:
        """Stop dispatching, let running work end, keep answering meanwhile."""
        self._worker.retire()
        self._state.stopping = True
        await self.application.close_polls()
        finished = await asyncio.to_thread(self._worker.stop, self._grace_s)
        if not finished:
            log.warning("some jobs did not finish in time; the next start recovers them")
        self.application.close_direct()
        await asyncio.to_thread(self._timekeeper.stop)
        await asyncio.to_thread(self._courier.stop)
        await asyncio.to_thread(self._janitor.stop)
        self.application.close_streams()


class _Uvicorn(uvicorn.Server):
    """Uvicorn without its own handling of signals, and with our own of connections."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket, most: int) -> None:
        super().__init__(config)
        logging.getLogger("uvicorn.error").addFilter(log_lines.SELDOM)
        self._listening = listening
        self._most = most

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections in."""
        await self.lifespan.startup()
        accepting = Connections(self._listening, self._most, self._connection)
        accepting.start()
        self.servers = [accepting]  # type: ignore[list-item]  # what uvicorn calls of it is there
        self.started = True

    def _connection(self, accepting: Connections) -> Connection:
        return Connection(
            accepting,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled by the server around it."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, or a clear error."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol left open, asyncio does not know TCP when it sees it: answers in two pieces
    # would wait 40 ms for the client to confirm the first.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # connections have what their listener has
        timeout_ms = int(READ_WITHIN_S * 1000)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, timeout_ms)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise errors.InvalidRequest(
                "--host", f"{host} is no address of this machine: {error.strerror}"
            ) from None
        raise errors.Unavailable(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port"
        ) from None
    listening.listen(2048)
    return listening


def recover(
    scheduler: Scheduler, is_alive: Callable[..., bool], end_orphans: Callable[..., None]
) -> Recovered:
    """Mend what a crash left behind, before anything is dispatched, and say what was found."""
    report = recovery.recover(scheduler, is_alive, end_orphans)
    if report.running_jobs_recovered or report.retries_created or report.reservations_expired:
        log.warning(
            "recovered after a crash: running jobs %d, missing retries %d, reservations %d",
            report.running_jobs_recovered,
            report.retries_created,
            report.reservations_expired,
        )
    if report.errors:
        log.error(
            "%d running jobs could not be recovered; the next start tries again", report.errors
        )
    return report
