"""`headway worker`: a process that works for a server on this or another machine."""

import contextlib
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from headway import collector, log_lines, wiring, worker_wiring
from headway.domain import errors
from headway.files.log_parts import OutputBound
from headway.settings import Settings
from headway.worker.executors import process_hooks
from headway.worker.job_lines import JobLines
from headway.worker.log_shipper import LogShipper
from headway.worker.loop import Worker
from headway.worker.remote import RemoteTransport
from headway.workspace import Workspace

log = logging.getLogger("headway.worker")


def slots(settings: Settings) -> str:
    return "1 slot" if settings.slots == 1 else f"{settings.slots} slots"


def warn_of_visible_secrets(settings: Settings) -> None:
    """Other users can read what stands on a command line, as long as the process runs."""
    url = settings.db or ""
    is_secret = {"db": "@" in url or "password=" in url, "token": True}
    for name, given in (("db", url), ("token", settings.token)):
        if given and is_secret[name] and {given, f"--{name}={given}"} & set(sys.argv[1:]):
            log.warning(
                "--%s: what stands on the command line can be read by every user of this machine;"
                " use HEADWAY_%s, or a headway.toml that only you can read",
                name,
                name.upper(),
            )


def work(settings: Settings) -> None:
    """Run a worker against a server until stopped."""
    log_lines.set_up(settings.log_format)
    warn_of_visible_secrets(settings)
    if not settings.url:
        raise errors.InvalidRequest(
            "url", "a worker needs the server's address: --url or HEADWAY_URL"
        )
    wiring.prepare_data(settings)
    app = wiring.load_app(settings.app)
    if app is not None:
        app.work_for(settings)
    collector.calm()
    handlers = app.handlers if app else {}
    me = worker_wiring.registration(settings, list(handlers), prefix="worker", every_queue=False)
    transport = RemoteTransport(
        settings.url, wiring.token_for(settings.url, settings), me, settings.ca_file
    )
    workspace = Workspace(Path(settings.workspace).resolve())
    bound = OutputBound(settings.largest_output, settings.disk_reserve)
    executors = worker_wiring.executors(
        handlers, settings.slots, workspace, settings.largest_body, bound, settings, app=app
    )
    # Not the server's own folder, should both use the same: here output only waits to be sent.
    data = settings.data_dir.resolve() / "remote"
    worker = Worker(
        transport,
        executors,
        slots=settings.slots,
        data=data,
        bound=bound,
        prepares=app.prepares if app else {},
        shipper=LogShipper(transport, data),
        lines=JobLines(settings.log_jobs, secret_params=settings.secret_params),
    )
    with contextlib.ExitStack() as stack:
        if app is not None:
            process_hooks.start_up(app.startups, executors.on_loop)
            stack.callback(process_hooks.shut_down, app.shutdowns, executors.on_loop)
        _until_signal(worker, settings)


def _until_signal(worker: Worker, settings: Settings) -> None:
    asked = threading.Event()
    signals = 0

    def on_signal(*_: Any) -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            os._exit(1)
        asked.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    worker.start()
    print(
        f"Worker for {settings.url} with {slots(settings)}. "
        "Press Ctrl-C to stop. Running jobs get time to finish.",
        flush=True,
    )
    # The system may hand a signal to another thread, which does not wake this one from its sleep.
    while not asked.wait(1.0) and not worker.is_retired:
        pass
    if not asked.is_set():
        print("Drained: no more jobs are taken, running ones finish.", flush=True)
        while not worker.slots.wait_idle(1.0) and not asked.is_set():
            pass
    if not worker.stop(settings.grace_s):
        print("Some jobs did not finish in time; their leases will expire.", file=sys.stderr)
