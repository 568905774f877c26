"""The processes: started, killed, stopped for a moment, started again."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from headway.prove import ledger, requests
from headway.prove.ledger import Ledger
from headway.prove.places import Place, environment

LEASE_TTL_S = 3.0
STOPS_WITHIN_S = 15.0
LOG_LINES = 5
APP = "headway.prove.handlers:app"


class Member:
    """One place in the fleet, taken by one process after another."""

    def __init__(self, fleet: "Fleet", name: str, words: list[str], more: dict[str, str]) -> None:
        self.name = name
        self.kills = 0
        self.starts = 0
        self._fleet = fleet
        self._words = words
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def kind(self) -> str:
        """Server, worker or client."""
        return self.name.partition("-")[0]

    @property
    def good_ends(self) -> tuple[int, ...]:
        """Exit codes after a SIGTERM; one that was just started may not have begun to handle it."""
        return (0,) if self.kind == "server" else (0, -signal.SIGTERM)

    @property
    def is_running(self) -> bool:
        """Whether a process was started that was not ended here."""
        return self._process is not None

    @property
    def log(self) -> Path:
        """What its processes wrote to standard error."""
        return self._fleet.place.folder / "logs" / f"{self.name}.log"

    def start(self) -> None:
        """Start a process; its seed is another one each time."""
        self.starts += 1
        words = [one.replace("{start}", str(self.starts)) for one in self._words]
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headway.prove.child", *words],
                cwd=self._fleet.place.folder,
                env={**environment(self._fleet.place), **self._more, **self._token()},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for the parent, which then ends them
            )

    def _token(self) -> dict[str, str]:
        """What a worker needs to be let in; a server makes its own."""
        if "HEADWAY_URL" not in self._more:
            return {}
        return {"HEADWAY_TOKEN": self._fleet.token.read_text().strip()}

    def kill(self, book: Ledger) -> None:
        """SIGKILL. The moment is noted before: it does nothing of its own after that."""
        if self._process is None:
            return
        book.note(ledger.KILLED, key=self.name, job_id=str(self._process.pid))
        self.kills += 1
        self._end(signal.SIGKILL)

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        self.send(signal.SIGTERM)

    def wait_for_end(self) -> int | None:
        """The exit code once it has stopped; None if it had to be killed."""
        if self._process is None:
            return 0
        try:
            return self._process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self._end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process, if there is one."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)

    def ended_by_itself(self) -> int | None:
        """The exit code of a process that was not ended from here; it is forgotten then."""
        code = None if self._process is None else self._process.poll()
        if code is not None:
            self._end(signal.SIGKILL)
        return code

    def last_words(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(lines[-LOG_LINES:])

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self.send(number)
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process = None


class Fleet:
    """Two servers, workers of both kinds, and clients."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.ports = [_free_port() for _ in range(2)]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.book = Ledger(place.folder / ledger.FOLDER, "fleet")
        self.servers = [self._server(number) for number in (1, 2)]
        self.workers = [
            self._worker(1, "--slots", "2"),
            self._worker(2, "--slots", "1", "--queue", "line", "--capability", "line"),
            *(
                self._own("protocol-worker", f"worker-{number}", f"{seed}{number}{{start}}")
                for number in (3, 4)
            ),
        ]
        self.clients = [
            self._own("client", "client-1", "crowd", f"{seed}5{{start}}"),
            self._own("client", "client-2", "crowd", f"{seed}6{{start}}"),
            self._own("client", "client-3", requests.LINE, f"{seed}7{{start}}"),
        ]

    @property
    def members(self) -> list[Member]:
        """All of them."""
        return [*self.servers, *self.workers, *self.clients]

    def _server(self, number: int) -> Member:
        words = ["serve", "--port", str(self.ports[number - 1]), "--slots", "2", "--app", APP]
        more = {
            "HEADWAY_DATA": "data",
            "HEADWAY_LEASE_TTL_S": str(LEASE_TTL_S),
            "HEADWAY_CLAIM_TTL_S": str(LEASE_TTL_S),
            "HEADWAY_GRACE_S": "5",
            "HEADWAY_LOG_JOBS": "false",
        }
        return Member(self, f"server-{number}", [*words, "--json"], more)

    def _worker(self, number: int, *words: str) -> Member:
        more = {
            "HEADWAY_URL": self.urls[number - 1],
            "HEADWAY_DATA": f"worker-{number}",
            "HEADWAY_GRACE_S": "5",
            "HEADWAY_LOG_JOBS": "false",
        }
        return Member(self, f"worker-{number}", ["worker", "--app", APP, *words], more)

    def _own(self, role: str, name: str, *words: str) -> Member:
        # Each process has a name of its own, so that no key is used by two of them.
        return Member(self, name, [role, f"{name}-{{start}}", *words, *self.urls], {})

    @property
    def token(self) -> Path:
        """The file with the token of the servers, once there is one."""
        return self.place.folder / "data" / "admin.token"

    def stop(self, members: Iterable[Member]) -> list[str]:
        """Ask processes to stop and wait for them; returns which did not, or not well."""
        members = [one for one in members if one.is_running]
        for one in members:
            one.ask_to_stop()
        codes = {one: one.wait_for_end() for one in members}
        return [
            f"{one.name} did not stop within {STOPS_WITHIN_S:g} s of SIGTERM"
            if code is None
            else f"{one.name} ended with {code} after SIGTERM: {one.last_words()}"
            for one, code in codes.items()
            if code not in one.good_ends
        ]

    def close(self) -> None:
        """End everything at once."""
        for one in self.members:
            if one.is_running:
                one.send(signal.SIGKILL)
                one.wait_for_end()


def _free_port() -> int:
    """A port that was free a moment ago, and that servers take again after each start."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_until(look: Callable[[], bool], seconds: float) -> bool:
    """Whether something came true in time."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if look():
            return True
        time.sleep(0.05)
    return False
