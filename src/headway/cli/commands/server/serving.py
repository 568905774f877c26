"""`headway serve` and `headway worker`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.settings import Settings

app = commands()

App = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:APP", help="App with your handlers [HEADWAY_APP]."),
]
Slots = Annotated[
    int | None, typer.Option("--slots", help="How many jobs run at once [HEADWAY_SLOTS, 1].")
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes", help="How many processes share the handlers [HEADWAY_PROCESSES, 1]."
    ),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace", metavar="DIR", help="Folder that jobs work in [HEADWAY_WORKSPACE, .]."
    ),
]
Capabilities = Annotated[
    list[str] | None,
    typer.Option(
        "--capability", metavar="TEXT", help="Capability to offer to jobs that require it."
    ),
]


@command(
    app,
    "serve",
    "headway serve",
    "headway serve --app demo:app --slots 4",
    "headway serve --app demo:app --slots 4 --processes 2   # for handlers that compute",
    "headway serve --port 0 --json   # any free port; one line says which",
)
def serve(
    session: "Session",
    app: App = None,
    slots: Slots = None,
    processes: Processes = None,
    workspace: Workspace = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on [HEADWAY_HOST, 127.0.0.1].")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", help="Port to listen on [HEADWAY_PORT, 4929].")
    ] = None,
    capability: Capabilities = None,
) -> None:
    """Run the scheduler, its worker and the HTTP server."""
    from headway.cli import serve as serving

    settings = _settings(
        session,
        app=app,
        slots=slots,
        processes=processes,
        workspace=workspace,
        host=host,
        port=port,
        capabilities=capability or None,
    )
    _say_what_is_above(session, settings)
    serving.serve(settings, json=session.screen.json)


def _say_what_is_above(session: "Session", settings: "Settings") -> None:
    """A store of a folder above, which other commands would have used here until now."""
    from headway import project_folder
    from headway.settings import Settings

    if settings.data == Settings().data and (above := project_folder.above()) is not None:
        store = above / project_folder.STORE
        session.screen.note(
            f"{store} is left alone, this folder gets a store of its own; "
            f"to serve that one: cd {above}, or --data {store}"
        )


@command(
    app,
    "worker",
    "headway worker --url http://build.example:4929 --app demo:app --slots 2",
    "headway worker --queue gpu --capability gpu",
)
def worker(
    session: "Session",
    app: App = None,
    slots: Slots = None,
    workspace: Workspace = None,
    queue: Annotated[
        list[str] | None, typer.Option("--queue", "-q", help="Queue to serve; all if not given.")
    ] = None,
    capability: Capabilities = None,
) -> None:
    """Run a worker for a server on this or another machine."""
    import msgspec

    from headway.cli import work
    from headway.server_file import ServerFile

    settings = _settings(
        session,
        app=app,
        slots=slots,
        workspace=workspace,
        queues=queue or None,
        capabilities=capability or None,
    )
    running = None if settings.url else ServerFile(settings.data_dir).running()
    if running is not None:
        settings = msgspec.structs.replace(settings, url=running.url)
    work.work(settings)


def _settings(session: "Session", **more: Any) -> "Settings":
    """The settings in force, if there is a folder to work in."""
    from headway import settings as settings_module
    from headway.domain import errors

    settings = session.settings_here(**more)
    if not Path(settings.workspace).is_dir():
        raise errors.InvalidRequest(
            settings_module.place("workspace", more),
            f"{settings.workspace} is not a folder; make it, or name another",
        )
    return settings
