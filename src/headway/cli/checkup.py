"""What `headway doctor` looks at. Nothing is changed or made by looking."""

import contextlib
import os
import platform
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from headway import local_wiring, project_folder, protocol, wiring
from headway import settings as settings_module
from headway.cli.session import Session
from headway.cli.text import schedule_text, words
from headway.clock import SystemClock
from headway.domain import errors
from headway.domain.manage.tokens import Token, digest
from headway.files import private_files, token_file
from headway.server_file import NAME, ServerFile
from headway.settings import Settings
from headway.storage.manage import tokens
from headway.workspace import Workspace, plugins

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 38, 0)
LEAST_FREE = 200 * 1024 * 1024
EARLIEST = datetime(2024, 1, 1, tzinfo=UTC)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; `mend` says what to do about it."""

    subject: str
    ok: bool
    detail: str
    mend: str | None = None


def examine(session: Session) -> list[Finding]:
    """Every finding; without readable settings only those that need none."""
    found = [_python(), _sqlite(), _clock(), _plug_ins()]
    try:
        settings = session.settings
    except errors.HeadwayError as error:
        mend = f"fix {settings_module.FILE} or the HEADWAY_… variables"
        return [*found, _bad("settings", error.detail, mend)]
    found.append(_settings())
    looks: tuple[Callable[[Settings], Finding], ...]
    looks = (_data, _disk, _database, _admin_token, _app, _workspace)
    for look in looks:
        try:
            found.append(look(settings))
        except (errors.HeadwayError, OSError, sqlite3.Error) as error:
            detail = error.detail if isinstance(error, errors.HeadwayError) else str(error)
            found.append(_bad(look.__name__.lstrip("_"), detail, None))
    found.append(_server(session, settings))
    if not all(one.ok for one in found):
        return found
    return [*found, *_schedules(session), *_retention(session, settings)]


def _good(subject: str, detail: str) -> Finding:
    return Finding(subject=subject, ok=True, detail=detail)


def _bad(subject: str, detail: str, mend: str | None) -> Finding:
    return Finding(subject=subject, ok=False, detail=detail, mend=mend)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return _bad("python", f"{version} is too old", "install Python 3.11 or newer")
    return _good("python", version)


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return _bad("sqlite", f"{version} is too old", "use a Python with SQLite 3.38 or newer")
    return _good("sqlite", version)


def _clock() -> Finding:
    now = datetime.now(UTC)
    if now < EARLIEST:
        return _bad("clock", f"it says {now:%Y-%m-%d}", "set the clock, for example with NTP")
    return _good("clock", f"{now:%Y-%m-%d %H:%M:%S}Z, local timezone {time.tzname[0]}")


def _settings() -> Finding:
    path = (project_folder.above() or Path()) / settings_module.FILE
    names = [name for name in os.environ if name.startswith(settings_module.PREFIX)]
    shown = ", ".join(sorted(names))
    parts = [str(path)] if path.is_file() else []
    parts += [f"environment: {shown}"] if shown else []
    return _good("settings", "; ".join(parts) or "all defaults")


def _data(settings: Settings) -> Finding:
    path = settings.data_dir
    if path.exists() and not path.is_dir():
        return _bad("data", f"{path} is not a folder", "remove it, or choose another --data")
    place = path if path.exists() else _existing(path)
    if not os.access(place, os.W_OK | os.X_OK):
        return _bad("data", f"{place} is not writable", f"chown or chmod {place}, or use --data")
    if not path.exists():
        return _good("data", f"{path} does not exist yet and will be created")
    if not settings.allow_readable_data:
        try:
            private_files.refuse_readable(path)
        except errors.UnsafeFile as error:
            return _bad("data", f"{path} {error.problem}", error.mend)
    return _good("data", str(path))


def _existing(path: Path) -> Path:
    """The nearest folder above that is there."""
    return next(one for one in path.absolute().parents if one.exists())


def _disk(settings: Settings) -> Finding:
    place = settings.data_dir if settings.data_dir.exists() else _existing(settings.data_dir)
    free = shutil.disk_usage(place).free
    detail = f"{free / 1024**3:.1f} GiB free"
    if free < LEAST_FREE:
        return _bad("disk", detail, "make room, for example: headway gc --older-than 7d")
    return _good("disk", detail)


def _database(settings: Settings) -> Finding:
    url = settings.database_url
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not file.exists():
        return _missing(file, settings)
    try:
        with contextlib.closing(local_wiring.open_database(url, SystemClock())) as database:
            database.check()
            pending = database.pending_migrations()
            doubts = database.doubts()
    except errors.DatabaseDamaged:
        return _bad("database", f"{file} is damaged", errors.DatabaseDamaged.advice(str(file)))
    except errors.ConnectionLost as error:
        return _bad("database", error.detail, "start the database, or fix --db")
    if pending:
        detail = errors.OutdatedSchema(pending).detail
        return _bad("database", detail, "make a backup, then: headway migrate")
    if doubts:
        return _bad("database", "; ".join(doubts), "change the settings of the PostgreSQL server")
    return _good("database", "up to date")


def _missing(file: Path, settings: Settings) -> Finding:
    running = ServerFile(settings.data_dir).running()
    if running is not None and not running.elsewhere:
        mend = "put the file back, or stop the server, restore a backup and start it again"
        return _bad("database", f"{file} is missing, and a server is using it", mend)
    return _good("database", f"{file} does not exist yet and will be created")


def _admin_token(settings: Settings) -> Finding:
    """Whether the data directory's own token is safe and in force."""
    subject = token_file.NAME
    try:
        text = token_file.read_own(settings.data_dir)
    except errors.UnsafeFile as error:
        return _bad(subject, f"it {error.problem}", error.mend)
    if text is None:
        return _good(subject, "none yet; headway serve makes it")
    known = _known_token(settings, text)
    if known is None:
        return _good(subject, "not known to the database yet; headway serve adopts it")
    if known.is_good(datetime.now(UTC)):
        return _good(subject, "in force")
    state = "was revoked" if known.revoked_at else "has expired"
    return _bad(subject, f"it {state}", "headway tokens rotate, or start the server again")


def _known_token(settings: Settings, text: str) -> Token | None:
    if wiring.missing_file(settings.database_url) is not None:
        return None
    with contextlib.closing(
        local_wiring.open_database(settings.database_url, SystemClock())
    ) as found:
        if found.pending_migrations():
            return None
        with found.reading() as tx:
            return tokens.by_digest_in_any_state(tx, digest(text))


def _app(settings: Settings) -> Finding:
    named = settings_module.code_in_file().get("app")
    if settings.app is None and named is not None:
        return _good("app", f"{named}, named by {settings_module.FILE}: headway serve imports it")
    if settings.app is None:
        return _good("app", "none is set; command jobs need none")
    try:
        app = wiring.load_app(settings.app)
    except Exception as error:
        detail = f"{settings.app} cannot be imported: {type(error).__name__}: {error}"
        return _bad("app", detail, "fix the module, or start where it can be found")
    names = ", ".join(sorted(app.handlers)) if app else ""
    return _good("app", f"{settings.app}: {names or 'no jobs'}")


def _plug_ins() -> Finding:
    found = plugins.load()
    if found.problems:
        told = "; ".join(f"kind {kind!r}: {why}" for kind, why in found.problems.items())
        return _bad("plug-ins", told, "fix or uninstall the package")
    return _good("plug-ins", ", ".join(sorted(found.checks)) or "none are installed")


def _workspace(settings: Settings) -> Finding:
    root = Path(settings.workspace)
    if not root.is_dir():
        return _bad("workspace", f"{root} is not a folder", "create it, or set --workspace")
    if Workspace(root).is_repository():
        return _good("workspace", f"{root.resolve()}, a git repository")
    return _good(
        "workspace", f"{root.resolve()}, not a git repository: git artifacts count as missing"
    )


def _server(session: Session, settings: Settings) -> Finding:
    file = settings.data_dir / NAME
    running = ServerFile(settings.data_dir).running()
    if settings.url is None and running is None:
        if file.exists():
            return _bad(
                "server", f"{file} is left over from a crash", f"headway serve, or rm {file}"
            )
        return _good("server", "none is running here; commands use the database directly")
    where = settings.url or (running.url if running else "")
    try:
        status = session.send(protocol.queue.get_scheduler_status)
    except errors.Unauthorized as error:
        return _bad(
            "server", f"{where}: {error.detail}", "pass a token with --token or HEADWAY_TOKEN"
        )
    except errors.HeadwayError as error:
        return _bad("server", error.detail, "start it with headway serve, or fix --url")
    at_work = "and a worker is alive" if status.running else "but no worker is alive"
    return _good("server", f"{where} answers, {at_work}")


def _retention(session: Session, settings: Settings) -> list[Finding]:
    """What becomes of old jobs, and what was removed last."""
    if session.missing_store() is not None:
        return []
    last = session.send(protocol.queue.get_scheduler_status).cleaned
    told = f", last {words.when(last.at)}: {last.jobs} jobs" if last else ""
    if settings.retention_s is None:
        return [_good("retention", f"nothing is removed by itself{told}")]
    return [_good("retention", f"a server removes what ended {settings.retention} ago{told}")]


def _schedules(session: Session) -> list[Finding]:
    """Schedules that are on and make no jobs; looked at when everything else is well."""
    if session.missing_store() is not None:
        return []
    idle = schedule_text.without_effect(session)
    if not idle:
        return [_good("schedules", "every schedule that is on has a template")]
    names = ", ".join(idle)
    mend = f"headway schedules delete {idle[0]}"
    return [_bad("schedules", f"on, but their templates are archived: {names}", mend)]
