"""The entry point of every process that is started here; it ends when its parent does.

Standard input is a pipe from the parent. It closes when the parent ends, however that happens.
"""

import os
import runpy
import signal
import sys
import threading
from collections.abc import Callable

from headway.prove import checker, clients, protocol_worker

OWN: dict[str, Callable[..., None]] = {
    "client": clients.main,
    "protocol-worker": protocol_worker.main,
    "checker": checker.main,
}


def main() -> None:
    """Be what the first word says: one of our own programs, or a command of `headway`."""
    role, *words = sys.argv[1:]
    if role != "checker":  # its pipe carries requests, and it ends when they do
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if role in OWN:
        OWN[role](*words)
        return
    sys.argv = ["headway", role, *words]
    runpy.run_module("headway.cli.main", run_name="__main__")


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
