"""`docs/cli.md`, written from the commands themselves: `python -m headway.cli.reference`."""

from pathlib import Path
from typing import Any

import typer

from headway.cli import main, options

TARGET = Path("docs/cli.md")
HEAD = """# The command line

Written by `python -m headway.cli.reference` from the commands themselves.

Every command takes `--json`, `--data DIR`, `--db URL`, `--url URL` and `--token TOKEN`, before or
after its name. It talks to the server that is configured or found, and otherwise directly to the
database. With `--json` it prints its answer as JSON on standard output, and errors as JSON on
standard error.

| Exit code | Meaning |
|---|---|
| 0 | success |
| 1 | failure |
| 2 | wrong usage |
| 3 | not found |
| 4 | conflict: not possible in the current state |
| 10 | the job is blocked |
| 130 | interrupted |

`run` and `jobs attach` exit with the job's own code. `headway --install-completion` makes the shell
complete commands, options, job numbers, job types, names and statuses.
"""


def text() -> str:
    """The whole page."""
    root = typer.main.get_command(main.app)
    ctx = typer.Context(root, info_name="headway")
    parts = [HEAD]
    for name in [*main.COMMANDS, *main.GROUPS]:
        command = _child(root, ctx, name)
        if name in main.COMMANDS:
            parts += _command(f"headway {name}", command)
            continue
        parts.append(f"## headway {name}\n\n{main.GROUPS[name][1]}\n")
        for inner in command.list_commands(ctx):
            parts += _command(f"headway {name} {inner}", _child(command, ctx, inner), "###")
    return "\n".join(parts)


def _child(group: Any, ctx: Any, name: str) -> Any:
    return group.get_command(ctx, name)


def _command(title: str, command: Any, level: str = "##") -> list[str]:
    inner = typer.Context(command, info_name=title)
    usage = " ".join(command.collect_usage_pieces(inner))
    lines = [f"{level} {title}\n", f"{command.help}\n", f"    {title} {usage}\n"]
    rows = [
        row
        for one in command.get_params(inner)
        if one.name not in (*options.COMMON, "help") and (row := one.get_help_record(inner))
    ]
    if rows:
        lines.append("| Option | |\n|---|---|")
        lines += [f"| `{_cell(name)}` | {_cell(said)} |" for name, said in rows]
        lines[-1] += "\n"
    if command.epilog:
        shown = command.epilog.partition("Examples:\n")[2]
        lines.append("\n".join(f"  {line}".rstrip() for line in shown.splitlines()) + "\n")
    return lines


def _cell(said: str) -> str:
    return " ".join(said.split()).replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
