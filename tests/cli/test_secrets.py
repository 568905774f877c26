"""Passwords are not repeated to whoever mistypes them, and no door is open without tokens."""

import sys
from typing import Any

import pytest
from tests.cli.conftest import Cli

from headway.cli import work
from headway.settings import Settings

PASSWORD = "hush-%zz-hush"

MISTYPED = {
    "a database of another kind": ("--db", f"mysql://me:{PASSWORD}@host/db"),
    "a database without a kind": ("--db", f"me:{PASSWORD}@host/db"),
    "a PostgreSQL URL that cannot be read": ("--db", f"postgresql://me:{PASSWORD}@host/db"),
    "a server with a password": ("--url", f"http://me:{PASSWORD}@127.0.0.1:1"),
    "a server of another kind": ("--url", f"ftp://me:{PASSWORD}@127.0.0.1:1"),
}


@pytest.mark.parametrize("what", MISTYPED)
@pytest.mark.parametrize("command", [("jobs", "list"), ("doctor",)])
def test_a_password_in_an_option_is_not_repeated(
    cli: Cli, what: str, command: tuple[str, ...]
) -> None:
    option, value = MISTYPED[what]
    code = 1 if command == ("doctor",) else 2
    result = cli.call(*command, option, value, code=code)
    assert "hush" not in result.output + result.stderr
    assert option.lstrip("-") in result.output + result.stderr


def test_a_password_in_a_webhook_url_is_not_repeated(cli: Cli) -> None:
    for url in (f"ftp://me:{PASSWORD}@host", f"http://me:{PASSWORD}@host:99999/"):
        assert "hush" not in cli.error("submit", "x", "--webhook-url", url, code=2)
        assert "hush" not in cli.error("webhooks", "create", url, code=2)


def test_another_address_than_loopback_is_refused_until_there_is_a_token(cli: Cli) -> None:
    words = ("serve", "--host", "127.0.0.2", "--port", "0")
    refused = cli.error(*words, code=2)
    assert "listening on 127.0.0.2 requires a token" in refused
    assert "headway tokens create" in refused
    cli.call("tokens", "create", "looks", "--role", "read")
    revoked = cli.json("tokens", "create", "gone", "--role", "admin")
    cli.call("tokens", "revoke", revoked["token_id"])
    assert "in force and not read-only" in cli.error(*words, code=2)
    cli.call("tokens", "create", "ops", "--role", "admin")
    with cli.start(*words) as process:
        assert process.stdout is not None
        assert "Headway is listening on http://127.0.0.2:" in process.stdout.readline()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--db", f"postgresql://me:{PASSWORD}@host/db"), "HEADWAY_DB"),
        ((f"--db=postgresql://host/db?password={PASSWORD}",), "HEADWAY_DB"),
        (("--token", PASSWORD), "HEADWAY_TOKEN"),
        (("--db", "postgresql:///db?host=/run"), None),
    ],
)
def test_a_secret_on_the_command_line_is_warned_of(
    words: tuple[str, ...],
    named: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    name, _, value = " ".join(words).replace("=", " ", 1).removeprefix("--").partition(" ")
    options: dict[str, Any] = {name: value}
    given = Settings(**options)
    work.warn_of_visible_secrets(given)
    assert not caplog.records  # it came from the environment or a file
    monkeypatch.setattr(sys, "argv", ["headway", "serve", *words])
    work.warn_of_visible_secrets(given)
    assert [named in one.message for one in caplog.records if named] == [True] * bool(named)
    assert "hush" not in caplog.text
