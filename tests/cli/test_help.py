"""The help, the reference and the start-up."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.cli.conftest import PROGRAM, Cli

from headway import protocol
from headway.cli import main, reference
from headway.operations.dispatch import FUNCTIONS
from headway.protocol.operation import Operation

ROOT = typer.main.get_command(main.app)
CONTEXT = typer.Context(ROOT, info_name="headway")


def test_the_list_of_commands_says_what_each_command_says_of_itself() -> None:
    for name, (_, summary) in main.COMMANDS.items():
        command = ROOT.get_command(CONTEXT, name)  # type: ignore[attr-defined]
        assert command.help == summary, name


def test_every_command_has_examples_and_the_common_options() -> None:
    for name in main.GROUPS:
        group = ROOT.get_command(CONTEXT, name)  # type: ignore[attr-defined]
        for inner in group.list_commands(CONTEXT):
            command = group.get_command(CONTEXT, inner)
            assert command.help, f"{name} {inner}"
            assert f"headway {name} {inner}" in command.epilog
            assert {"json", "data", "db", "url", "token"} <= {one.name for one in command.params}


def test_a_narrow_terminal_cuts_nothing_off() -> None:
    shown = subprocess.run(
        [*PROGRAM, "jobs", "--help"],
        env={**os.environ, "COLUMNS": "60"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "10 if it is blocked." in shown
    assert max(map(len, shown.splitlines())) <= 60


def test_the_reference_is_as_the_program_says() -> None:
    kept = Path(__file__).parents[2] / reference.TARGET
    assert kept.read_text(encoding="utf-8") == reference.text(), (
        "write it anew: python -m headway.cli.reference"
    )


def test_every_operation_of_the_protocol_has_its_function_or_needs_a_server() -> None:
    rows = {
        name: value
        for area in protocol.__all__
        for name, value in vars(getattr(protocol, area)).items()
        if isinstance(value, Operation)
    }
    bound = {one.name: operation for operation, one in FUNCTIONS.items()}
    assert bound == {name: one for name, one in rows.items() if not one.needs_server}


def modules_loaded_by(*words: str, cwd: Path) -> tuple[str, set[str]]:
    """What a command printed, and all that it imported."""
    code = (
        "import sys, json, atexit; sys.argv = ['headway', *sys.argv[1:]]\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "from headway.cli import main; main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


def test_the_help_waits_for_nothing_that_is_slow_to_load(tmp_path: Path) -> None:
    shown, loaded = modules_loaded_by("--help", cwd=tmp_path)
    assert "why" in shown
    assert "Explain why a job is not running." in shown
    assert not loaded & {"msgspec", "httpx", "rich", "sqlite3", "asyncio", "headway.wiring"}


@pytest.mark.parametrize("words", [["jobs", "list"], ["submit", "story"]])
def test_a_short_command_loads_only_what_it_needs(tmp_path: Path, words: list[str]) -> None:
    _, loaded = modules_loaded_by(*words, cwd=tmp_path)
    assert not loaded & {"pydantic", "httpx", "rich", "asyncio", "headway.worker.loop"}


def test_words_that_make_no_sense_are_refused_with_2(cli: Cli) -> None:
    assert "No such command" in cli.error("fly", code=2)
    assert "No such option" in cli.error("jobs", "list", "--fly", code=2)
    assert "give a job type" in cli.error("submit", code=2)
    assert "headway 0" in cli.text("--version")


def test_the_shell_can_complete_commands() -> None:
    environment = {
        **os.environ,
        "_HEADWAY_COMPLETE": "complete_bash",
        "COMP_WORDS": "headway jobs at",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        PROGRAM, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["attach"]
