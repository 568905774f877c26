"""Settings: options first, then the environment, then `headway.toml`, then defaults."""

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headway import project_folder
from headway.domain import errors
from headway.domain.secrets import SECRET_PARAMS
from headway.domain.values import durations

FILE = project_folder.SETTINGS
PREFIX = "HEADWAY_"
PATHS = ("data", "workspace", "ca_file")
SQLITE = "sqlite:///"
NO_TOKEN = ""
"""No token at all, not even the one in the data directory."""
CODE = ("app", "concurrency_policy", "group_failure_policy")
"""Settings that name code. From the file, only `serve` and `worker` take them: it may have come
with the folder, and to look at a queue must not run what is in there."""
NEVER = "never"
"""As `retention`: nothing is removed by itself."""
RANGES = {
    "port": (0, 65535),
    "slots": (1, 10_000),
    "processes": (1, 1000),
    "max_connections": (16, 100_000),
    "largest_output": (64 * 1024, 1 << 50),
    "disk_reserve": (0, 1 << 50),
}


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. Each has the environment variable `HEADWAY_<NAME>`."""

    data: str = project_folder.STORE
    db: str | None = None
    url: str | None = None
    token: str | None = None
    ca_file: str | None = None
    app: str | None = None
    host: str = "127.0.0.1"
    port: int = 4929
    slots: int = 1
    processes: int = 1
    workspace: str = "."
    queues: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    grace_s: float = 30.0
    lease_ttl_s: float = 30.0
    claim_ttl_s: float = 60.0
    starvation_s: float = 300.0
    probe_every_s: float = 1.0
    largest_body: int = 1024 * 1024
    largest_batch: int = 64 * 1024 * 1024
    max_connections: int = 1000
    largest_output: int = 256 * 1024 * 1024
    disk_reserve: int = 256 * 1024 * 1024
    retention: str = "30d"
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    concurrency_policy: str | None = None
    group_failure_policy: str | None = None
    log_format: str = "text"
    log_jobs: bool = True
    allow_commands: bool = True
    webhook_targets: str = "any"
    allow_readable_data: bool = False
    secret_params: tuple[str, ...] = SECRET_PARAMS

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return Path(self.data)

    @property
    def retention_s(self) -> float | None:
        """How long a server keeps what has ended; None for ever."""
        return None if self.retention == NEVER else durations.parse(self.retention)

    @property
    def database_url(self) -> str:
        """The database, by default a file in the data directory."""
        return self.db or f"sqlite:///{self.data_dir / 'headway.db'}"

    @property
    def keeps_jobs_elsewhere(self) -> bool:
        """Whether the database is another one than the file in the data directory."""
        file = self.data_dir / "headway.db"
        return self.database_url not in (f"sqlite:///{file}", f"sqlite:///{file.absolute()}")


def load(
    options: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    *,
    search: bool = True,
    code: bool = False,
) -> Settings:
    """The settings in force, with the code that the file names only if `code` is asked for.

    Options that are None were not given. Without a folder and a data directory, the settings are
    those of the folder above that has a store.
    """
    searched = folder is None and search and not _names_data(options)
    above = project_folder.above() if searched else None
    folder = folder or above or Path()
    written = _from_file(folder)
    if above is not None:
        written = _anchored(written, above)
    if not code:
        written = {name: value for name, value in written.items() if name not in CODE}
    given = _from_environment(os.environ)
    given.update({name: value for name, value in (options or {}).items() if value is not None})
    _part_tokens(folder, written, given)
    values = {**written, **given}
    try:
        found = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        wrong = errors.from_validation(error)
        name = next(iter(wrong.fields), "")
        raise errors.InvalidRequest(
            place(name, options, folder), wrong.fields.get(name, wrong.detail)
        ) from None
    for name, (least, most) in RANGES.items():
        value = getattr(found, name)
        if not least <= value <= most:
            raise errors.InvalidRequest(
                place(name, options, folder), f"{value} is not between {least} and {most}"
            )
    if found.webhook_targets not in ("any", "public"):
        raise errors.InvalidRequest(
            place("webhook_targets", options, folder),
            f"{found.webhook_targets!r} is neither any nor public",
        )
    _check_retention(found, place("retention", options, folder))
    return found


def _check_retention(found: Settings, where: str) -> None:
    try:
        seconds = found.retention_s
    except errors.InvalidDuration as error:
        raise errors.InvalidRequest(where, f"{error.detail}, or {NEVER}") from None
    if seconds is not None and seconds < 1:
        raise errors.InvalidRequest(where, f"{found.retention} is less than 1s; or write {NEVER}")


def _names_data(options: Mapping[str, Any] | None) -> bool:
    return bool((options or {}).get("data") or os.environ.get(f"{PREFIX}DATA"))


def _anchored(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same with paths that hold in any folder: in a file they are relative to its own."""
    found = {"data": project_folder.STORE, "workspace": ".", **values}
    for name in PATHS:
        if isinstance(found.get(name), str):
            found[name] = str(folder / found[name])
    if str(found.get("db", "")).startswith(SQLITE):
        found["db"] = f"{SQLITE}{folder / found['db'].removeprefix(SQLITE)}"
    return found


def code_in_file() -> dict[str, Any]:
    """The settings of the file that name code."""
    written = _from_file(project_folder.above() or Path())
    return {name: value for name, value in written.items() if name in CODE}


def _part_tokens(folder: Path, written: dict[str, Any], given: Mapping[str, Any]) -> None:
    """See to it that no token from one place is sent to a URL from another."""
    url_in_file, token_in_file = "url" in written, "token" in written
    if "token" in given and url_in_file and "url" not in given:
        raise errors.InvalidRequest(
            f"{FILE}: url",
            "a token from elsewhere is not sent to a server that this file names;"
            " name the server with --url or HEADWAY_URL",
        )
    if token_in_file and "token" not in given and "url" in given:
        raise errors.InvalidRequest(
            f"{FILE}: token",
            "it is not sent to a server that is named elsewhere;"
            " pass a token with --token or HEADWAY_TOKEN",
        )
    if url_in_file and "url" not in given and not token_in_file:
        data = folder / str(given.get("data") or written.get("data") or project_folder.STORE)
        if not data.resolve().is_relative_to(folder.resolve()):
            written["token"] = NO_TOKEN


def place(name: str, options: Mapping[str, Any] | None = None, folder: Path | None = None) -> str:
    """Where a setting comes from, for a person who has to correct it there."""
    root = name.partition(".")[0]
    if (options or {}).get(root) is not None:
        return f"--{name}"
    if os.environ.get(PREFIX + root.upper()):
        return PREFIX + name.upper()
    return f"{FILE}: {name}" if root in _from_file(folder or Path()) else name


def _from_file(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, OSError, UnicodeError) as error:
        raise errors.InvalidRequest(FILE, f"cannot be read: {error}") from None


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in Settings.__struct_fields__:
        text = environment.get(PREFIX + name.upper())
        if text:
            found[name] = _READERS.get(name, str)(text)
    return found


def _list(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(","))


def _sizes(text: str) -> dict[str, str]:
    """`gpu=1,type:story=2`; the size comes after the last `=`."""
    sizes: dict[str, str] = {}
    for item in _list(text):
        name, _, size = item.rpartition("=")
        if not name or not size.isdecimal():
            raise errors.InvalidRequest(
                f"{PREFIX}LIMITS", f"cannot read {item!r}; write NAME=SIZE,NAME=SIZE"
            )
        sizes[name] = size
    return sizes


_READERS: dict[str, Callable[[str], Any]] = {
    "queues": _list,
    "capabilities": _list,
    "allowed_hosts": _list,
    "secret_params": _list,
    "limits": _sizes,
}
