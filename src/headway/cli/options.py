"""Options that every command has, and how a command gets its session."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Concatenate, ParamSpec, get_args

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

from headway.cli import completion

Words = ParamSpec("Words")

INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Data = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Data directory [HEADWAY_DATA, ./.headway]."),
]
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="sqlite:///FILE or postgresql://… [HEADWAY_DB]."),
]
Url = Annotated[str | None, typer.Option("--url", metavar="URL", help="Server URL [HEADWAY_URL].")]
Token = Annotated[
    str | None, typer.Option("--token", metavar="TOKEN", help="API token [HEADWAY_TOKEN].")
]

COMMON: dict[str, Any] = {"json": Json, "data": Data, "db": Db, "url": Url, "token": Token}

Job = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="Job number or id.", show_default=False, autocompletion=completion.jobs
    ),
]
MaybeJob = Annotated[
    str | None,
    typer.Argument(metavar="JOB", help="Job number or id.", autocompletion=completion.jobs),
]
Jobs = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...",
        help="Job numbers or ids, first to last.",
        autocompletion=completion.jobs,
    ),
]
MaybeJobs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[JOB...]",
        help="Job numbers or ids.",
        show_default=False,
        autocompletion=completion.jobs,
    ),
]
SomeJobs = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...",
        help="Job numbers or ids.",
        show_default=False,
        autocompletion=completion.jobs,
    ),
]
OnlyStatus = Annotated[
    str | None,
    typer.Option(
        "--status",
        help="Comma-separated statuses; also active, ended.",
        autocompletion=completion.statuses,
    ),
]
OnlyQueue = Annotated[str | None, typer.Option("--queue", "-q", help="Only in this queue.")]
OnlyType = Annotated[
    str | None,
    typer.Option("--type", "-t", help="Only of this type.", autocompletion=completion.job_types),
]
OnlyTag = Annotated[str | None, typer.Option("--tag", help="Only with this tag.")]
OnlyGroup = Annotated[
    str | None,
    typer.Option(
        "--group", help="Only of this group, by name or id.", autocompletion=completion.groups
    ),
]
OnlyName = Annotated[str | None, typer.Option("--name", help="Only with this name.")]
Search = Annotated[
    str | None,
    typer.Option(
        "--search", metavar="WORDS", help="Only with these in number, id, name, type or tags."
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME|SPAN",
        help="Submitted since then, e.g. 2030-01-31, or 2h: two hours ago.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME|SPAN", help="Submitted before then, as with --since."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many to show.")]


def examples(*lines: str) -> str:
    """Examples for the end of a help text, kept line by line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class Commands(TyperGroup):
    """A group whose help says all of each sentence, on as many lines as that takes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(limit=1000)) for name, one in self.commands.items()]
            )


def commands() -> typer.Typer:
    """Commands, as yet none."""
    return typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def command(
    app: typer.Typer, name: str, *shown: str, **context: Any
) -> Callable[[Callable[Concatenate[Any, Words], None]], Callable[Concatenate[Any, Words], None]]:
    """Make a function a command: it gets a session first; the common options come last."""

    def register(
        function: Callable[Concatenate[Any, Words], None],
    ) -> Callable[Concatenate[Any, Words], None]:
        settings = {"help_option_names": ["-h", "--help"], **context}
        app.command(name, epilog=examples(*shown) if shown else None, context_settings=settings)(
            _with_session(function)
        )
        return function

    return register


def _name_value(parameter: inspect.Parameter) -> None:
    """A value without a name of its own is called by its kind, not by its Python type."""
    kind, *more = get_args(parameter.annotation) or (None,)
    for one in more:
        if isinstance(one, OptionInfo) and one.metavar is None and kind is not bool:
            one.metavar = "N" if {int, float} & {kind, *get_args(kind)} else "TEXT"


def _with_session(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*, ctx: typer.Context, **given: Any) -> None:
        from headway.cli.session import Session

        common = {name: given.pop(name) or None for name in COMMON}
        outer = ctx.find_root().obj or {}
        chosen = {**outer, **{k: v for k, v in common.items() if v is not None}}
        try:
            with Session(chosen) as session:
                function(session, **given)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None

    own = inspect.signature(function)
    for one in own.parameters.values():
        _name_value(one)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("ctx", keyword, annotation=typer.Context),
        *(one.replace(kind=keyword) for one in list(own.parameters.values())[1:]),
        *(
            inspect.Parameter(name, keyword, annotation=kind, default=name != "json" and None)
            for name, kind in COMMON.items()
        ),
    ]
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
