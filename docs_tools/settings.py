"""The page on settings, from the fields of `Settings`."""

from typing import Any, get_type_hints

import msgspec

from docs_tools.tables import WRITTEN_BY, table
from headway import settings
from headway.settings import Settings

MEANING = {
    "data": "the data directory: database, admin token, logs",
    "db": "`sqlite:///FILE` or `postgresql://…`; by default a file in the data directory",
    "url": "the server that commands, programs and workers talk to",
    "token": "the API token; for a server on this machine by default the data directory's",
    "ca_file": "the certificates to trust for an https `url`",
    "app": "the handlers, `module:app`",
    "host": "the address that `serve` listens on",
    "port": "its port; 0 takes a free one",
    "slots": "how many jobs run at once",
    "processes": "how many child processes of the server share the handlers; no more than slots",
    "workspace": "the folder that commands run in and that `file:` paths are relative to",
    "queues": "the queues that `worker` serves; by default all",
    "capabilities": "what `serve` or `worker` offers to jobs that require it",
    "allowed_hosts": "host names of the server, besides loopback and `host`",
    "grace_s": "how long running jobs may take to end after SIGTERM",
    "lease_ttl_s": "how long a lease lasts without a heartbeat",
    "claim_ttl_s": "how long a claimed job waits for its lease",
    "starvation_s": "how long a job waits at a full limit before it reserves the next free units",
    "probe_every_s": "how often to check for the files and branches that jobs wait for",
    "largest_body": "the maximum size of params and results, in bytes",
    "largest_batch": "the maximum size of a call that carries many jobs or results, in bytes",
    "max_connections": "how many connections `serve` keeps open, if the system allows that many",
    "largest_output": "the maximum size of one run's output, in bytes; what is cut is marked",
    "disk_reserve": "output is not kept while fewer bytes than this are free on its disk",
    "retention": "what ended this long ago is removed by the server; `never`: nothing is",
    "limits": "sizes of limits, set at each start",
    "concurrency_policy": "your own `ConcurrencyPolicy`, `module:name`",
    "group_failure_policy": "your own `GroupFailurePolicy`, `module:name`",
    "log_format": "`text` or `json`",
    "log_jobs": "`false`: the log has no lines for jobs that start and end",
    "webhook_targets": "`any` but link-local, or `public`: only addresses of the internet",
    "allow_readable_data": "`true`: use a data directory or SQLite file that other users can read",
    "secret_params": "names of params that are shown as `***` below `admin`, as patterns",
    "allow_commands": "`false`: a server refuses commands (`commands_off`), a worker takes none",
}

PAGE = """\
# Settings

{written_by}

Headway takes each setting from the first of these that has it: the command's option, the
environment variable, the file `headway.toml` in the current folder, the default.

As git does, commands and programs in a folder with neither `.headway` nor `headway.toml` use the
nearest folder above that has a `.headway`: its data, its `headway.toml` (paths in it are relative
to it), and itself as the workspace. The search ends at the home directory and at the end of the
file system, and passes over what belongs to another user. `--data` or `HEADWAY_DATA` switches it
off. `serve` and `worker` do not search: they use the current folder.

In the environment, separate the items of a list with commas, and write limits as
`gpu=1,type:story=2`. In the file, use the name as the key:

```toml
app = "shop:app"
slots = 4

[limits]
"type:story" = 2
```

The file may have come with the folder, from a repository for example. So only `serve` and `worker`
import the code that it names (`app` and the policies); other commands use `HEADWAY_APP`. A token
that is set elsewhere is not sent to a `url` in the file, and a token in the file only to a `url`
beside it. The admin token of a data directory is sent only to the server of that directory and to
addresses of this machine, and to one of those in the file only if the data directory is in the same
folder.

{settings}
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(written_by=WRITTEN_BY, settings=_settings())


def _settings() -> str:
    hints = get_type_hints(Settings)
    return table(
        ("Name", "Environment", "Kind", "Default", "Meaning"),
        [
            (
                f"`{field.name}`",
                f"`{settings.PREFIX}{field.name.upper()}`",
                _kind(hints[field.name]),
                _default(field.default),
                MEANING[field.name],
            )
            for field in msgspec.structs.fields(Settings)
        ],
    )


def _kind(hint: Any) -> str:
    words = {
        "str": "text",
        "int": "number",
        "bool": "true or false",
        "float": "seconds",
        "tuple": "list",
        "dict": "table",
    }
    name = str(hint).replace("<class '", "").partition("[")[0].partition(" ")[0].rstrip("'>")
    return words[name]


def _default(value: Any) -> str:
    if isinstance(value, tuple) and value:
        return ", ".join(f"`{one}`" for one in value)
    return "-" if value in (None, (), msgspec.NODEFAULT) else f"`{value}`"
