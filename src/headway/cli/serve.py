"""`headway serve`: the process that schedules and serves; its children run the handlers."""

import contextlib
import dataclasses
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from headway import admin_token, collector, local_wiring, log_lines, wiring, worker_wiring
from headway.cli import work
from headway.domain import errors
from headway.domain.manage.code_schedules import Changes, Timing
from headway.domain.manage.tokens import Role
from headway.http import server as http_server
from headway.http.auth.security import LOOPBACK
from headway.http.server import Server
from headway.scheduler.manage import code_schedules, limits
from headway.scheduler.scheduler import Scheduler
from headway.server_file import ServerFile
from headway.settings import Settings
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import tokens
from headway.worker.job_lines import JobLines
from headway.worker.local import LocalTransport
from headway.worker.loop import Worker
from headway.worker.pool.pool import HandlerPool

TOKENS_AT_ONCE = 200

log = logging.getLogger("headway.serve")


def serve(settings: Settings, *, json: bool = False) -> None:
    """Run the scheduler, its built-in worker and the HTTP server until stopped."""
    log_lines.set_up(settings.log_format)
    work.warn_of_visible_secrets(settings)
    # For its definitions: signatures check params, defaults complete jobs. Nothing calls it here.
    app = wiring.load_app(settings.app)
    collector.calm()
    with contextlib.ExitStack() as stack:
        pool = worker_wiring.handler_pool(_of_handlers(settings), app) if app else None
        if pool is not None:
            pool.open()  # the app is imported there while the store is opened here
            stack.callback(pool.close)
        store = local_wiring.open_store(settings, migrates=True)
        stack.callback(store.close)
        for doubt in store.database.doubts():
            log.warning("%s", doubt)
        scheduler = local_wiring.build_scheduler(settings, store, app)
        with http_server.listen(settings.host, settings.port) as listening:
            _refuse_open_door(settings, scheduler)
            _warn_of_plain_http(settings)
            admin_token.ensure(settings.data_dir, scheduler)
            store.write(lambda tx: limits.set_sizes(scheduler, tx, settings.limits))
            if app is not None:
                _match_schedules(scheduler, wiring.full_name(settings.app or ""), app.schedules)
            _serve(settings, scheduler, listening, pool, app.prepares if app else (), json)


def _match_schedules(
    scheduler: Scheduler, app: str, wanted: Mapping[str, Sequence[Timing]]
) -> None:
    """The schedules of the app match its code, whatever they were when a server last started."""
    found = scheduler.store.write(lambda tx: code_schedules.match(scheduler, tx, app, wanted))
    if found != Changes():
        log.info(
            "schedules in the code of %s: %d new, %d changed, %d retired",
            app,
            len(found.new),
            len(found.changed),
            len(found.retired),
        )


def _serve(
    settings: Settings,
    scheduler: Scheduler,
    listening: Any,
    pool: HandlerPool | None,
    prepared_types: Iterable[str],
    json: bool,
) -> None:
    port = listening.getsockname()[1]
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{shown}:{port}"
    home = worker_wiring.home(settings.data_dir, url)
    me = worker_wiring.registration(
        settings, list(scheduler.handlers), prefix="server", every_queue=True, home=home
    )
    scheduler = dataclasses.replace(scheduler, server=me.worker_id, data_id=home.data_id)
    prepares = {}
    if pool is not None:
        scheduler = dataclasses.replace(scheduler, threads=pool.live)
        prepares = {name: partial(pool.prepare, name) for name in prepared_types}
    transport = LocalTransport(scheduler, me)
    executors = worker_wiring.executors(
        scheduler.handlers,
        settings.slots,
        scheduler.workspace,
        scheduler.rules.largest_result,
        scheduler.output,
        _of_handlers(settings),
        pool=pool,
    )
    worker = Worker(
        transport,
        executors,
        slots=settings.slots,
        data=scheduler.data,
        bound=scheduler.output,
        prepares=prepares,
        lines=JobLines(settings.log_jobs, secret_params=settings.secret_params),
    )
    server = Server(
        scheduler,
        worker,
        grace_s=settings.grace_s,
        allowed_hosts=(*settings.allowed_hosts, settings.host),
        max_connections=settings.max_connections,
    )
    http_server.recover(
        scheduler,
        local_wiring.is_alive,
        lambda run_ids: worker_wiring.end_orphans(scheduler.data, run_ids),
    )
    if pool is not None:
        pool.wait_until_ready()
    server_file = ServerFile(settings.data_dir)
    other = server_file.claim(url, elsewhere=settings.keeps_jobs_elsewhere)
    try:
        server.run(listening, lambda: _announce(settings, url, server, other, json))
    finally:
        server_file.release()


def _of_handlers(settings: Settings) -> Settings:
    """The settings of handlers in this server: they talk to it, whatever others talk to."""
    return msgspec.structs.replace(settings, url=None, token=None)


def _announce(settings: Settings, url: str, server: Server, other: Any, json: bool) -> None:
    # A link that lets an admin in belongs on a screen, not into a journal or a file.
    on_screen = sys.stdout.isatty()
    link = f"{url}/#code={server.dashboard_code()}" if on_screen else f"{url}/"
    if json:
        facts = {"url": url, "pid": os.getpid(), "data": settings.data, "dashboard": link}
        print(msgspec.json.encode(facts).decode(), flush=True)
        return
    print(f"Headway is listening on {url}, data in {settings.data}, {work.slots(settings)}.")
    if other is not None:
        print(
            f"Another server ({other.url}, pid {other.pid}) uses the same data. "
            "Both run jobs; server.json still points to it."
        )
    print(
        f"Dashboard ({'one-time link' if on_screen else 'for a link: headway dashboard'}): {link}"
    )
    print("Press Ctrl-C to stop. Running jobs get time to finish.", flush=True)


def _warn_of_plain_http(settings: Settings) -> None:
    """There is no TLS here: what goes over a network can be read on it."""
    if not wiring.is_loopback(settings.host):
        log.warning(
            "listening on %s with plain HTTP: tokens and params can be read on the network;"
            " put a TLS proxy in front of it",
            settings.host,
        )


def _has_useful_token(tx: Transaction) -> bool:
    """Whether there is a token that is in force and may do more than read."""
    before: str | None = None
    while known := tokens.page(tx, before=before, count=TOKENS_AT_ONCE):
        if any(one.is_good(tx.now) and one.role is not Role.READ for one in known):
            return True
        before = known[-1].token_id
    return False


def _refuse_open_door(settings: Settings, scheduler: Scheduler) -> None:
    """Other machines are admitted only once there are tokens."""
    if settings.host in LOOPBACK:
        return
    if not scheduler.store.read(_has_useful_token):
        raise errors.InvalidRequest(
            "host",
            f"listening on {settings.host} requires a token that is in force and not read-only;"
            " create one with `headway tokens create NAME --role admin`",
        )
