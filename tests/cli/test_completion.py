"""What the shell offers at Tab."""

import os
import shlex
import subprocess
import threading

import pytest
import typer
from tests.cli.conftest import PROGRAM, WAIT_S, Cli

from headway.cli import completion, main


def offered(cli: Cli, line: str, shell: str = "bash") -> tuple[str, str]:
    """What the shell gets for a line that ends where Tab is pressed, and what is said beside it."""
    words = shlex.split(line)
    place = len(words) - (not line.endswith(" "))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HEADWAY_")},
        "_HEADWAY_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(place),
        "_TYPER_COMPLETE_ARGS": line,
    }
    done = subprocess.run(
        PROGRAM, cwd=cli.folder, env=environment, capture_output=True, text=True, timeout=60
    )
    return done.stdout, done.stderr


def words_at(cli: Cli, line: str) -> list[str]:
    """The words that bash offers."""
    out, err = offered(cli, line)
    assert err == ""
    return out.split()


def test_jobs_types_schedules_and_templates_are_offered(cli: Cli) -> None:
    for genre in ("horror", "comedy"):
        cli.call("submit", "story", f"genre={genre}")
    cli.call("templates", "create", "nightly", "story")
    cli.call("schedules", "create", "nightly", "--every", "1h", "--name", "hourly")
    assert words_at(cli, "headway jobs show ") == ["2", "1"]
    assert words_at(cli, "headway jobs cancel 2 1") == ["1"]
    assert words_at(cli, "headway submit s") == ["story"]
    assert words_at(cli, "headway submit story ge") == []
    assert words_at(cli, "headway schedules trigger ") == ["hourly"]
    assert words_at(cli, "headway submit --template n") == ["nightly"]
    assert words_at(cli, f"headway --data {cli.folder / '.headway'} why ") == ["2", "1"]
    assert '"2":"queued story genre comedy"' in offered(cli, "headway why ", "zsh")[0]


def test_statuses_are_offered_also_after_a_comma(cli: Cli) -> None:
    assert words_at(cli, "headway jobs list --status can") == ["cancelled"]
    assert words_at(cli, "headway jobs list --status failed,ti") == ["failed,timeout"]
    assert {"active", "ended", "running"} <= set(words_at(cli, "headway jobs list --status "))


def test_nothing_is_made_or_said_where_there_is_nothing(cli: Cli) -> None:
    assert words_at(cli, "headway jobs show ") == []
    assert list(cli.folder.iterdir()) == []
    (cli.folder / "headway.toml").write_text("slots = 'many'")
    assert words_at(cli, "headway jobs show ") == []


def test_a_name_that_a_shell_would_evaluate_is_not_offered(cli: Cli) -> None:
    evil = "\\$(touch pwned)"
    cli.call("submit", evil, "a=`touch pwned`")
    cli.call("submit", "command", "--", "sh", "-c", f"{evil} [/bold]; 'x' \"y\"")
    assert words_at(cli, "headway submit ") == ["command"]
    out, err = offered(cli, "headway jobs show ", "zsh")
    assert err == ""
    assert '"2":"queued sh -c touch pwned bold x y"' in out
    assert not set(out) & set("$`\\;")


def test_a_server_that_does_not_answer_is_not_waited_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answered = threading.Event(), threading.Event()

    def slow(session: object) -> list[completion.Offer]:
        asked.set()
        answered.wait()
        return [("7", "")]

    monkeypatch.setattr(completion, "PATIENCE_S", 0.05)
    monkeypatch.setattr(completion, "_session", lambda ctx: None)
    context = typer.Context(typer.main.get_command(main.app), info_name="headway")
    assert completion._offers(context, "", slow) == []
    assert asked.wait(WAIT_S)
    answered.set()
