"""`headway dashboard`: a link is a secret."""

import json
import os
import subprocess
import urllib.request

from tests.cli.conftest import PROGRAM, WAIT_S, Cli


def test_a_fresh_link_is_printed_to_a_terminal(served: Cli) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [*PROGRAM, "dashboard"],
            cwd=served.folder,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(theirs)
        _, said = process.communicate(timeout=WAIT_S)
        link = terminal.read(1000).decode().strip()
    assert process.returncode == 0, said
    assert said == "It works once, within 10m, and lets that browser in as an admin for 12h.\n"
    assert _session(link).startswith("hw_")


def test_elsewhere_it_takes_a_flag(served: Cli) -> None:
    for words in ((), ("--json",)):
        said = served.call("dashboard", *words, code=2)
        assert "to print it anyway: --print" in said.stderr
        assert "code=" not in said.output
    assert "/#code=" in served.text("dashboard", "--print")
    answer = served.json("dashboard", "--print")
    assert answer["expires_in_s"] == 600
    assert _session(answer["url"]).startswith("hw_")


def test_it_takes_a_server_and_an_admin(cli: Cli) -> None:
    said = cli.error("dashboard", "--print", code=1)
    assert "the dashboard belongs to a server, and no server was found here" in said
    token = cli.json("tokens", "create", "x", "--role", "submit")["token"]
    with cli.start("serve", "--port", "0", "--json") as server:
        assert server.stdout is not None
        server.stdout.readline()
        refused = cli.error("dashboard", "--print", "--token", token, code=1)
    assert "this needs the role admin, yours is submit" in refused


def _session(link: str) -> str:
    """The token that a browser gets for a link."""
    url, _, code = link.partition("/#code=")
    body = json.dumps({"code": code}).encode()
    with urllib.request.urlopen(f"{url}/dashboard/session", body, timeout=WAIT_S) as answer:
        return str(json.load(answer)["token"])
