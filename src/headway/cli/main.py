"""`headway`: the command line.

Commands are loaded when they are used, so that `headway --help` has nothing to wait for.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headway.cli import options

COMMANDS = {
    "serve": ("server.serving", "Run the scheduler, its worker and the HTTP server."),
    "worker": ("server.serving", "Run a worker for a server on this or another machine."),
    "run": ("jobs.run", "Run a command as a job, show its output and exit with its code."),
    "submit": ("jobs.submit", "Submit a job, or a whole graph of jobs from a file."),
    "direct": ("jobs.direct", "Run a handler in the server's next slot and show its result."),
    "why": ("jobs.why", "Explain why a job is not running."),
    "top": ("jobs.top", "Show running and waiting jobs, updated live; q quits."),
    "events": ("jobs.events", "Show the last events of all jobs, oldest first, and follow them."),
    "locks": ("manage.locks", "List locks that are held or waited for."),
    "pause": ("jobs.queue", "Start no new jobs; running jobs continue."),
    "resume": ("jobs.queue", "Lift one pause, or all of them."),
    "gc": (
        "server.housekeeping",
        "Remove jobs that ended long ago, with their runs, logs and events.",
    ),
    "backup": (
        "server.backup",
        "Copy the database to a SQLite file while it is in use, whichever database it is.",
    ),
    "verify": ("server.housekeeping", "Check that the database is intact and consistent."),
    "repair": (
        "server.repair",
        "Mend what verify finds, or save what a damaged file holds; stop the servers first.",
    ),
    "prove": (
        "server.prove",
        "Kill servers, workers and clients at random, and check that nothing is lost or doubled.",
    ),
    "migrate": (
        "server.housekeeping",
        "Bring the database up to date, or copy it to another one.",
    ),
    "dashboard": (
        "server.dashboard",
        "Print a fresh link to the dashboard; it works once and lets in as an admin.",
    ),
    "audit": ("manage.audit", "Show who changed what, newest first, and refused logins."),
    "doctor": ("server.doctor", "Diagnose the setup and suggest fixes."),
}

GROUPS = {
    "jobs": ("jobs.view", "View and change jobs."),
    "runs": ("jobs.runs", "View single executions and their output."),
    "templates": ("manage.templates", "Manage templates: defaults that many jobs share."),
    "schedules": ("manage.schedules", "Manage schedules: jobs created at set times."),
    "groups": ("manage.groups", "Manage groups: jobs that belong together."),
    "webhooks": ("manage.webhooks", "Manage webhooks: endpoints that are notified when jobs end."),
    "workers": ("manage.workers", "View and drain workers."),
    "limits": ("manage.limits", "Manage limits: how much may run at once."),
    "artifacts": ("manage.artifacts", "Manage custom artifacts: marks that jobs wait for."),
    "reservations": ("manage.reservations", "Manage reservations: holds on the next slot."),
    "tokens": ("manage.tokens", "Manage API tokens."),
}


class LazyGroup(TyperGroup):
    """Knows the names of its commands, and loads the one that is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command and group."""
        return [*COMMANDS, *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command behind a name."""
        if cmd_name in COMMANDS:
            return _load(COMMANDS[cmd_name][0]).get_command(ctx, cmd_name)
        if cmd_name in GROUPS:
            module, text = GROUPS[cmd_name]
            group = _load(module)
            group.name, group.help = cmd_name, text
            return group
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, from their names alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
        with formatter.section("Command groups"):
            formatter.write_dl([(name, text) for name, (_, text) in GROUPS.items()])


def _load(module: str) -> TyperGroup:
    return typer.main.get_group(import_module(f"headway.cli.commands.{module}").app)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=options.examples(
        "headway run -- make test",
        "headway submit story genre=horror --priority high",
        "headway why 7",
        "headway serve --app demo:app",
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        from headway import __version__

        typer.echo(f"headway {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    json: options.Json = False,
    data: options.Data = None,
    db: options.Db = None,
    url: options.Url = None,
    token: options.Token = None,
    version: Annotated[  # noqa: ARG001  (its callback prints it)
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """A durable job scheduler.

    Commands talk to the server that is configured or found, and otherwise directly to the database
    in ./.headway.
    """
    ctx.obj = {"json": json or None, "data": data, "db": db, "url": url, "token": token}


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name that the terminal cannot show must not end the program.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="headway")


if __name__ == "__main__":
    main()
