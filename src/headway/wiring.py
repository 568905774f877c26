"""The composition root: settings become a client, of a server or of the database itself.

Only entry points import it. What works on the database is in `local_wiring` and what a worker needs
in `worker_wiring`: most commands need neither, and need not wait for their imports.
"""

import importlib
import ipaddress
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headway.client.client import Client
from headway.domain import errors
from headway.files import private_files, token_file
from headway.server_file import ServerFile
from headway.settings import Settings

if TYPE_CHECKING:
    from headway.client.app import App


def missing_file(url: str) -> Path | None:
    """The file of an SQLite database that is not there."""
    scheme, _, rest = url.partition("://")
    file = Path(rest[1:])
    return file if scheme == "sqlite" and not file.exists() else None


def prepare_data(settings: Settings) -> None:
    """Make the data directory; refuse one that other users can read, and such a file elsewhere."""
    private_files.make_folder(settings.data_dir)
    if not settings.allow_readable_data:
        private_files.refuse_readable(settings.data_dir)
        scheme, _, rest = settings.database_url.partition("://")
        if scheme == "sqlite" and settings.keeps_jobs_elsewhere:
            private_files.refuse_readable(Path(rest[1:]))


def load_app(reference: str | None) -> "App | None":
    """The app named `module:name`, found in the current folder."""
    if reference is None:
        return None
    found = named(reference, "app", "app")
    return _checked_app(found, reference)


def named(reference: str, setting: str, usual: str | None = None) -> Any:
    """The object that `module:name` names, imported from the current folder."""
    module_name, _, name = reference.partition(":")
    name = name or usual or ""
    if not module_name or not name:
        raise errors.InvalidRequest(setting, f"{reference!r} is not MODULE:NAME")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module_name), name)
    except ModuleNotFoundError as error:
        if error.name and not module_name.startswith(error.name):
            raise
        raise errors.InvalidRequest(
            setting, f"there is no module {module_name!r} in {here}"
        ) from None
    except AttributeError:
        raise errors.InvalidRequest(setting, f"module {module_name!r} has no {name!r}") from None


def full_name(reference: str) -> str:
    """The reference to an app, written in the one way that names it."""
    module_name, _, name = reference.partition(":")
    return f"{module_name}:{name or 'app'}"


def _checked_app(found: Any, reference: str) -> "App":
    from headway.client.app import App

    if not isinstance(found, App):
        raise errors.InvalidRequest("app", f"{reference} is not a headway.App")
    return found


def connect(settings: Settings, app: "App | None" = None) -> Client:
    """A client: to the server that is configured or found, otherwise straight to the database."""
    url = server_url(settings)
    if url:
        return _client_of(url, settings)
    from headway import local_wiring  # only callers without a server wait for the scheduler

    return local_wiring.local_client(settings, app)


def server_url(settings: Settings) -> str | None:
    """The server that is configured, or runs on this data directory."""
    if settings.url or settings.db:
        return settings.url
    file = ServerFile(settings.data_dir)
    killed = file.killed()
    if killed is not None and killed.elsewhere:
        raise errors.Unavailable(
            f"the server of {settings.data_dir.absolute()} is gone, and its database is elsewhere;"
            " start it again, or name the database: --db URL"
        )
    running = file.running()
    return running.url if running else None


def _client_of(url: str, settings: Settings) -> Client:
    from headway.client.over_http import HttpTransport

    ca_file = Path(settings.ca_file) if settings.ca_file else None
    return Client(HttpTransport(url, token_for(url, settings), ca_file))


def token_for(url: str, settings: Settings) -> str | None:
    """The token that is set; for a server on this machine, by default the data directory's."""
    if settings.token is not None:
        return settings.token or None
    running = ServerFile(settings.data_dir).running()
    is_ours = is_loopback(urlsplit(url).hostname or "") or (running and running.url == url)
    return token_file.read(settings.data_dir) if is_ours else None


def is_loopback(host: str) -> bool:
    """Whether this address or name is a loopback one."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
