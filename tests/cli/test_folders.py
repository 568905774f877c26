"""The store of a folder above, as git finds its repository."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

from headway import project_folder, settings


@pytest.fixture
def inner(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder two below one with a store; the command line is called in it."""
    cli.call("submit", "story")
    folder = cli.folder / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    cli.folder = folder
    return folder


def test_commands_use_the_store_of_a_folder_above(cli: Cli, inner: Path) -> None:
    assert [one["number"] for one in cli.json("jobs", "list")["items"]] == [1]
    cli.call("submit", "story")
    root = inner.parent.parent
    code, out, _ = cli.program("run", "--needs", "file:here.txt", "--", "pwd")
    assert code == 10, "the workspace is the folder with the store"
    (root / "here.txt").touch()
    code, out, _ = cli.program("run", "--needs", "file:here.txt", "--", "pwd")
    assert (code, out) == (0, f"{inner}\n")
    assert str(root / ".headway") in cli.text("doctor")
    assert list(inner.iterdir()) == []


def test_a_nearer_store_or_settings_come_first(cli: Cli, inner: Path) -> None:
    (inner / "headway.toml").write_text("")
    assert cli.json("jobs", "list")["items"] == []
    (inner / "headway.toml").unlink()
    (inner.parent / ".headway").mkdir()
    assert cli.json("jobs", "list")["items"] == []


def test_a_named_data_directory_is_not_searched_for(
    cli: Cli, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.json("jobs", "list", "--data", ".headway")["items"] == []
    monkeypatch.setenv("HEADWAY_DATA", ".headway")
    assert cli.json("jobs", "list")["items"] == []


def test_paths_of_settings_above_are_relative_to_their_file(inner: Path) -> None:
    root = inner.parent.parent
    (root / "headway.toml").write_text('data = "d"\ndb = "sqlite:///x.db"\nca_file = "/c.pem"\n')
    found = settings.load()
    assert found.data == str(root / "d")
    assert found.workspace == str(root)
    assert found.db == f"sqlite:///{root / 'x.db'}"
    assert found.ca_file == "/c.pem"
    assert settings.load({"workspace": "."}).workspace == "."
    assert settings.load(search=False) == settings.Settings()


def test_the_search_ends_at_the_home_directory(
    inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = inner.parent.parent
    monkeypatch.setenv("HOME", str(root))
    assert project_folder.above() == root
    monkeypatch.setenv("HOME", str(inner.parent))
    assert project_folder.above() is None
    monkeypatch.setenv("HOME", str(inner))
    assert project_folder.above() is None


def test_the_search_ends_with_the_file_system() -> None:
    mounted = Path("/proc")
    if not mounted.exists():
        pytest.skip("only Linux has a file system of its own at a known place")
    assert list(project_folder._parents(mounted / "self" / "fd")) == [mounted / "self", mounted]


def test_what_another_user_may_have_put_there_is_passed_over(
    inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project_folder.above() is not None
    monkeypatch.setattr(os, "geteuid", lambda: 4929)
    assert project_folder.above() is None


def test_a_server_uses_its_own_folder_and_says_what_is_above(cli: Cli, inner: Path) -> None:
    with cli.start("serve", "--port", "0") as server:
        assert server.stdout is not None
        server.stdout.readline()
        assert (inner / ".headway").is_dir()
        assert cli.json("jobs", "list")["items"] == []
        running = json.loads((inner / ".headway" / "server.json").read_text())
        assert running["pid"] == server.pid
        server.terminate()
        _, said = server.communicate()
    store = inner.parent.parent / ".headway"
    assert f"{store} is left alone, this folder gets a store of its own" in said
