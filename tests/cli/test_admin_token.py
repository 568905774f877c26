"""The data directory's own admin token: made, checked, revoked, rotated."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli

SERVE = ("serve", "--port", "0")


def token_file(cli: Cli) -> Path:
    return cli.folder / ".headway" / "admin.token"


def finding(cli: Cli, code: int) -> Any:
    """What `doctor` says of the token."""
    found = cli.json("doctor", code=code)
    return next(one for one in found["findings"] if one["subject"] == "admin.token")


def test_doctor_names_a_revoked_token_and_rotate_replaces_it(served: Cli) -> None:
    old = token_file(served).read_text()
    assert finding(served, 0)["detail"] == "in force"
    (own,) = served.json("tokens", "list")["items"]
    served.call("tokens", "revoke", own["token_id"])
    assert "was revoked" in served.error("jobs", "list", code=1)
    found = finding(served, 1)
    assert (found["ok"], found["detail"]) == (False, "it was revoked")
    assert "headway tokens rotate" in found["mend"]
    said = served.text("tokens", "rotate")
    assert "admin.token; the old one is revoked" in said
    new = token_file(served)
    assert new.stat().st_mode & 0o777 == 0o600
    assert new.read_text() != old
    assert new.read_text().strip() not in said
    assert served.text("jobs", "list")


def test_rotate_revokes_a_token_that_is_in_force(served: Cli) -> None:
    old = token_file(served).read_text().strip()
    served.call("tokens", "rotate")
    served.call("jobs", "list")
    assert "was revoked" in served.error("--token", old, "jobs", "list", code=1)


PLANTED = {
    "a short one": ("x", 0o600, "does not hold a token of Headway"),
    "one that others can read": (f"hw_{'a' * 43}", 0o644, "can be read by other users (mode 0644)"),
    "nothing": ("", 0o600, "does not hold a token of Headway"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_token_is_not_adopted(cli: Cli, what: str) -> None:
    text, mode, problem = PLANTED[what]
    (cli.folder / ".headway").mkdir(mode=0o700)
    token_file(cli).write_text(text)
    token_file(cli).chmod(mode)
    code, _, said = cli.program(*SERVE)
    assert code == 2
    assert problem in said
    assert "remove it" in said
    assert problem in finding(cli, 1)["detail"]
    assert cli.json("tokens", "list")["items"] == []


def test_a_token_that_only_its_owner_can_read_is_adopted(cli: Cli) -> None:
    text = f"hw_{'a' * 43}"
    (cli.folder / ".headway").mkdir(mode=0o700)
    token_file(cli).touch(mode=0o600)
    token_file(cli).write_text(f"{text}\n")
    assert "adopts it" in finding(cli, 0)["detail"]
    with cli.start(*SERVE) as process:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        assert cli.json("tokens", "list")["items"][0]["name"] == "admin.token"
