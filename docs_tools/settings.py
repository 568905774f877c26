"""The page on settings, from the fields of `Settings`."""

from typing import Any, get_type_hints

import msgspec

from docs_tools.tables import WRITTEN_BY, table
from headway import settings
from headway.settings import Settings

MEANING = {
    "data": "the data directory: database, admin token, logs",
    "db": "`sqlite:///FILE` or `postgresql://…`; without it a file in the data directory",
    "url": "the server that commands, programs and workers talk to",
    "token": "who you are; without it the admin token of the data directory",
    "ca_file": "the certificates to trust for an https `url`",
    "app": "the handlers, `module:app`",
    "host": "the address that `serve` listens on",
    "port": "its port; 0 takes a free one",
    "slots": "how many jobs run at once",
    "workspace": "the folder in which commands run and `file:` artifacts lie",
    "queues": "the queues that `worker` serves; without it all",
    "capabilities": "what `serve` or `worker` can do, for jobs that require it",
    "allowed_hosts": "names under which the server is reached, beside loopback and `host`",
    "grace_s": "how long running jobs have to end after SIGTERM",
    "lease_ttl_s": "how long a lease lasts without a heartbeat",
    "claim_ttl_s": "how long a claimed job waits for its lease",
    "starvation_s": "after so long at a full limit, a job keeps back the limit's next free units",
    "probe_every_s": "how often files and branches that jobs wait for are looked at",
    "largest_body": "the most bytes that params or a result may have",
    "largest_batch": "the most bytes of a call that carries many jobs or results",
    "limits": "sizes of limits, set at each start",
    "concurrency_policy": "your own `ConcurrencyPolicy`, `module:name`",
    "group_failure_policy": "your own `GroupFailurePolicy`, `module:name`",
    "log_format": "`text` or `json`",
}

PAGE = """\
# Settings

{written_by}

A setting is looked for in this order: the option of the command, the environment variable, the file
`headway.toml` in the current folder, the default. In the environment, items of a list have commas
between them, and limits are written `gpu=1,type:story=2`. In the file, the name is the key:

```toml
app = "shop:app"
slots = 4

[limits]
"type:story" = 2
```

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
    words = {"str": "text", "int": "number", "float": "seconds", "tuple": "list", "dict": "table"}
    name = str(hint).replace("<class '", "").partition("[")[0].partition(" ")[0].rstrip("'>")
    return words[name]


def _default(value: Any) -> str:
    return "-" if value in (None, (), msgspec.NODEFAULT) else f"`{value}`"
