"""The server's front: every operation of the API, and the few things only HTTP has."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from headway.domain import errors, secrets
from headway.domain.errors import HeadwayError
from headway.domain.manage.tokens import Principal, Role
from headway.domain.requests.job_requests import DirectBody
from headway.domain.values import versions
from headway.http import body_sizes, dashboard, health, metrics, openapi, problems, routes, streams
from headway.http.auth.security import Authenticator
from headway.http.claim_polls import ClaimPolls
from headway.http.direct_requests import DirectRequests
from headway.http.exchange import JSON, ClientGone, Exchange, Receive, Scope, Send
from headway.http.large_bodies import LargeBodies
from headway.http.open_requests import Ended, Lasts, OpenRequests
from headway.operations import dispatch, masking
from headway.operations.bound import Bound
from headway.protocol import bodies, pieces
from headway.protocol.operation import Operation
from headway.protocol.work_shapes import ClaimBody
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.awaiting import awaiting
from headway.worker.loop import Worker

log = logging.getLogger("headway.http")

READERS = 4
"""How many lists, graphs and explanations are read at once."""

MOST_CONNECTIONS = 1000


@dataclass
class ServerState:
    """What the server knows about itself."""

    ready: bool = False
    stopping: bool = False


class Application:
    """The ASGI application."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        worker: Worker | None,
        state: ServerState,
        allowed_hosts: tuple[str, ...] = (),
        codes: dashboard.Codes | None = None,
        connections: int = MOST_CONNECTIONS,
    ) -> None:
        self.scheduler = scheduler
        self.state = state
        self._doors = Authenticator(scheduler, allowed_hosts)
        self._open = OpenRequests(scheduler, connections)
        self._claims = ClaimPolls(scheduler)
        self._direct = DirectRequests(scheduler, worker)
        self._streams = streams.Streams(scheduler)
        self._metrics = metrics.Metrics(scheduler)
        self._health_of_store = health.Health(scheduler)
        self._health_thread = ThreadPoolExecutor(1, "headway-health")
        # Of their own: tokens, large bodies and output never wait behind long answers.
        self._readers = ThreadPoolExecutor(READERS, "headway-reads")
        self._bodies = LargeBodies()
        # Of their own: they come in many short transactions, beside the others.
        self._actions = LargeBodies()
        # Of their own: heartbeats and outcomes never wait behind large submits.
        self._worker_bodies = LargeBodies()
        self._codes = codes or dashboard.Codes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._handle(Exchange(scope, receive, send))

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._claims.start()
                self._open.start(self._doors.forget)
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._claims.stop()
                self._open.stop()
                await self._doors.refused_logins.stop()
                self._health_thread.shutdown(wait=False)
                self._readers.shutdown(wait=False, cancel_futures=True)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def close_polls(self) -> None:
        """The server stops: long polls for jobs end."""
        await self._claims.stop()

    def close_direct(self) -> None:
        """The time for running work is up: direct requests end."""
        self._direct.close()

    def close_streams(self) -> None:
        """Nothing happens here any more: streams of events and output end."""
        self._streams.close()

    async def _handle(self, exchange: Exchange) -> None:
        try:
            exchange.refuse_twins()
            self._doors.check_host(exchange)
            await self._route(exchange)
        except ClientGone:
            pass
        except HeadwayError as error:
            await self._refuse(exchange, error)
        except Exception:
            log.exception("%s %s failed", exchange.method, exchange.path)
            await self._refuse(exchange, problems.InternalError())

    async def _refuse(self, exchange: Exchange, error: HeadwayError) -> None:
        if exchange.answered:
            return
        headers: tuple[tuple[bytes, bytes], ...] = ()
        if isinstance(error, errors.Unauthorized):
            headers = ((b"www-authenticate", b"Bearer"),)
        if isinstance(error, routes.MethodNotAllowed):
            headers = ((b"allow", ", ".join(error.allowed).encode()),)
        if isinstance(error, errors.Busy):
            headers = ((b"retry-after", str(error.retry_after_s).encode()),)
        await exchange.answer(
            error.http_status, problems.encode(error), problems.CONTENT_TYPE, headers
        )

    async def _route(self, exchange: Exchange) -> None:
        path = exchange.path
        if exchange.method in ("GET", "HEAD") and path in _OPEN_PAGES:
            return await _OPEN_PAGES[path](self, exchange)
        if exchange.method in ("GET", "HEAD") and dashboard.has_page(path):
            return await dashboard.show(exchange)
        if path == "/dashboard/session" and exchange.method == "POST":
            return await self._codes.exchange(exchange, self._doors.refused_logins)
        principal = await self._doors.principal(exchange)
        special = _special(exchange)
        if special is not None:
            role, page, lasts = special
            dispatch.check_role(principal, role)
            with self._open.lasting(principal, lasts) as ended:
                return await page(self, exchange, principal, ended)
        return await self._operate(exchange, principal)

    async def _operate(self, exchange: Exchange, principal: Principal) -> None:
        bound, values = routes.find(exchange.method, exchange.path)
        operation = bound.operation
        dispatch.check_operation(principal, operation)  # before a body is read for nothing
        limit = body_sizes.largest(self.scheduler.rules, operation.path)
        large = self._worker_bodies if operation.role is Role.WORK else self._bodies
        large = self._actions if operation.takes_its_time else large
        async with large.receive(exchange, limit, alone=operation.one_at_a_time) as raw:
            answer = await self._perform(exchange, principal, bound, values, raw)
        if operation.path == "/api/tokens/{id}":
            self._doors.forget()
        await self._answer(exchange, operation, answer, principal)

    async def _perform(
        self,
        exchange: Exchange,
        principal: Principal,
        bound: Bound,
        values: Mapping[str, str],
        raw: bytes,
    ) -> Any:
        operation = bound.operation
        body = await _decoded(raw, operation.body)
        query = routes.read_query(operation, exchange.query())
        perform = partial(
            dispatch.perform,
            self.scheduler,
            principal,
            bound,
            values,
            body,
            query,
            exchange.header("idempotency-key"),
            exchange.header("if-match"),
        )
        blocks = operation.blocking or len(raw) > pieces.LARGE
        answer = await self._in_thread(operation, perform) if blocks else perform()
        return await awaiting(answer) if isinstance(answer, Future) else answer

    async def _answer(
        self,
        exchange: Exchange,
        operation: Operation[Any, Any, Any],
        answer: Any,
        principal: Principal,
    ) -> None:
        status, value = dispatch.status_and_value(operation, answer)
        shown = await self._shown(value, operation, principal)
        body = b"" if status == 204 else msgspec.json.encode(shown)
        headers = ((b"etag", versions.tag(value).encode()),) if operation.shows_version else ()
        await exchange.answer(status, body, headers=headers)

    async def _shown(
        self, value: Any, operation: Operation[Any, Any, Any], principal: Principal
    ) -> Any:
        """An answer as this caller may see it."""
        if not masking.is_needed(operation, principal):
            return value
        mask = partial(masking.masked, value, secrets.names(self.scheduler.rules.secret_params))
        return await self._in_thread(operation, mask) if operation.blocking else mask()

    async def _in_thread(self, operation: Operation[Any, Any, Any], work: Callable[[], Any]) -> Any:
        """Do what takes a while beside the event loop; reads only beside a few others."""
        threads = self._readers if operation.method == "GET" else None
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    async def _claim(self, exchange: Exchange, principal: Principal, ended: Ended) -> None:
        limit = body_sizes.largest(self.scheduler.rules, body_sizes.CLAIMS)
        async with self._worker_bodies.receive(exchange, limit) as raw:
            body = await _decoded(raw, ClaimBody)
        got = await self._unless_gone(exchange, self._claims.claim(principal, body, ended))
        await (
            exchange.answer(204) if got is None else exchange.answer(200, msgspec.json.encode(got))
        )

    async def _let_go(self, exchange: Exchange, principal: Principal, _: Ended) -> None:
        await self._operate(exchange, principal)
        self._claims.end_poll(routes.steps(exchange.path)[-1])

    async def _run_direct(self, exchange: Exchange, principal: Principal, ended: Ended) -> None:
        if self.state.stopping:
            raise errors.Stopping()
        job_type = routes.steps(exchange.path)[-1]
        limit = body_sizes.largest(self.scheduler.rules, "/api/direct")
        async with self._bodies.receive(exchange, limit) as raw:
            body = await _decoded(raw, DirectBody)
        answer = await self._unless_gone(
            exchange, self._direct.run(principal, job_type, body), ended
        )
        await exchange.answer(200, msgspec.json.encode(answer))

    async def _unless_gone(self, exchange: Exchange, work: Awaitable[Any], *ended: Ended) -> Any:
        """Wait for the work, but not for longer than the client does or its token is in force."""
        doing = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(exchange.receive())
        await asyncio.wait({doing, leaving, *ended}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            doing.cancel()
            raise ClientGone if leaving.done() else errors.TokenRefused()
        leaving.cancel()
        return doing.result()

    async def _health(self, exchange: Exchange) -> None:
        await exchange.answer(200, b'{"status":"ok"}')

    async def _ready(self, exchange: Exchange) -> None:
        look = partial(
            self._health_of_store.problems,
            recovered=self.state.ready,
            stopping=self.state.stopping,
        )
        loop = asyncio.get_running_loop()
        problems = await loop.run_in_executor(self._health_thread, look)
        brief = bool(problems) and not await self._doors.knows(exchange)
        report = health.readiness(problems, brief=brief)
        await exchange.answer(200 if report.ready else 503, msgspec.json.encode(report))

    async def _show_metrics(self, exchange: Exchange, _: Principal, __: Ended) -> None:
        text = await asyncio.to_thread(self._metrics.render)
        await exchange.answer(200, text, b"text/plain; version=0.0.4; charset=utf-8")

    async def _openapi(self, exchange: Exchange) -> None:
        await exchange.answer(200, openapi.document(), JSON)

    async def _docs(self, exchange: Exchange) -> None:
        await exchange.answer(200, openapi.page(), b"text/html; charset=utf-8")

    async def _no_icon(self, exchange: Exchange) -> None:
        """Browsers ask for it by themselves, without a token: it is not there, and no secret."""
        raise errors.NotFound("page", exchange.path)

    async def _dashboard_code(self, exchange: Exchange, principal: Principal, _: Ended) -> None:
        await self._codes.hand_out(exchange, principal)

    async def _event_stream(self, exchange: Exchange, _: Principal, ended: Ended) -> None:
        await self._streams.events(exchange, ended)

    async def _logs(self, exchange: Exchange, _: Principal, ended: Ended) -> None:
        await self._streams.logs(exchange, ended)


async def _decoded(raw: bytes, kind: Any) -> Any:
    """A body as a type, a long one read beside the event loop."""
    if len(raw) <= pieces.LARGE:
        return bodies.decode(raw, kind)
    return await asyncio.to_thread(bodies.decode, raw, kind)


Page = Callable[[Application, Exchange], Awaitable[None]]
Special = Callable[[Application, Exchange, Principal, Ended], Awaitable[None]]

_OPEN_PAGES: dict[str, Page] = {
    "/favicon.ico": Application._no_icon,
    "/healthz": Application._health,
    "/readyz": Application._ready,
    "/docs": Application._docs,
    "/openapi.json": Application._openapi,
}


def _special(exchange: Exchange) -> tuple[Role, Special, Lasts] | None:
    """What is not one question and one answer."""
    match [exchange.method, *routes.steps(exchange.path)]:
        case ["POST", "api", "claims"]:
            return Role.WORK, Application._claim, Lasts.CLAIM
        case ["DELETE", "api", "workers", _]:
            return Role.WORK, Application._let_go, Lasts.NOT
        case ["POST", "dashboard", "codes"]:
            return Role.ADMIN, Application._dashboard_code, Lasts.NOT
        case ["POST", "api", "direct", _]:
            return Role.SUBMIT, Application._run_direct, Lasts.STREAM
        case ["GET", "api", "events"] if "text/event-stream" in (exchange.header("accept") or ""):
            return Role.READ, Application._event_stream, Lasts.STREAM
        case ["GET", "api", "jobs" | "job-runs", _, "logs", "stdout" | "stderr"]:
            return Role.READ, Application._logs, Lasts.STREAM
        case ["GET", "metrics"]:
            return Role.READ, Application._show_metrics, Lasts.NOT
    return None
