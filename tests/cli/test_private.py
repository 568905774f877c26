"""What other users, other folders and the settings file of a folder get to see and to do."""

import http.server
import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import PROGRAM, Cli
from tests.servers import wait_for

from headway.worker import process_groups

SERVE = ("serve", "--port", "0")


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Files are made as readable as their maker allows."""
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(folder: Path) -> list[str]:
    return [str(one) for one in (folder, *folder.rglob("*")) if one.lstat().st_mode & 0o077]


@contextmanager
def serving(cli: Cli, *words: str) -> Iterator[None]:
    with cli.start(*SERVE, *words) as process:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        yield
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.mark.usefixtures("open_umask")
def test_all_that_a_server_and_a_worker_write_is_for_their_user_alone(cli: Cli) -> None:
    with serving(cli, "--db", f"sqlite:///{cli.folder}/elsewhere/jobs.db"):
        cli.call("run", "--", "echo", "hello")
        assert readable_by_others(cli.folder / ".headway") == []
        assert readable_by_others(cli.folder / "elsewhere") == []
        url = json.loads((cli.folder / ".headway" / "server.json").read_text())["url"]
        words = ("--url", url, "--token", token(cli), "--capability", "far")
        with cli.start("worker", "--data", "far/data", *words) as worker:
            assert worker.stdout is not None
            assert "Worker for" in worker.stdout.readline()
            look = (
                "echo hello; until find far/data -name stdout.log -printf %m | grep . > mode;"
                " do sleep 0.05; done; mv mode seen"
            )
            cli.call("submit", "command", "--requires", "far", "--", "sh", "-c", look)
            wait_for((cli.folder / "seen").exists, "what the job saw")
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=30)
        assert (cli.folder / "seen").read_text().strip() == "600"
        assert readable_by_others(cli.folder / "far") == []


def token(cli: Cli) -> str:
    return (cli.folder / ".headway" / "admin.token").read_text().strip()


@pytest.mark.usefixtures("open_umask")
def test_a_backup_and_a_file_elsewhere_are_for_their_owner_alone(cli: Cli) -> None:
    (cli.folder / "open").mkdir()
    database = cli.folder / "open" / "jobs.db"
    cli.call("--db", f"sqlite:///{database}", "submit", "x")
    copy = cli.folder / "open" / "copy.db"
    copy.touch()
    cli.call("--db", f"sqlite:///{database}", "backup", str(copy), "--force")
    for file in (database, copy):
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("words", [SERVE, ("jobs", "list"), ("submit", "x")])
def test_a_data_directory_that_others_can_read_is_refused_unless_told_otherwise(
    cli: Cli, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.call("submit", "x")
    (cli.folder / ".headway").chmod(0o755)
    code, _, said = cli.program(*words)
    assert code == 2
    assert ".headway can be read by other users (mode 0755); chmod 700 .headway, or set" in said
    monkeypatch.setenv("HEADWAY_ALLOW_READABLE_DATA", "true")
    assert cli.text("jobs", "list")


def test_a_database_elsewhere_that_others_can_read_is_refused(cli: Cli) -> None:
    url = f"sqlite:///{cli.folder}/jobs.db"
    cli.call("--db", url, "submit", "x")
    (cli.folder / "jobs.db").chmod(0o644)
    assert "jobs.db can be read by other users" in cli.error("--db", url, "jobs", "list", code=2)


class Ear(http.server.BaseHTTPRequestHandler):
    """Hears which tokens are sent to it."""

    heard: list[str | None]

    def do_GET(self) -> None:
        self.heard.append(self.headers["authorization"])
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def ear() -> Iterator[tuple[str, list[str | None]]]:
    """The URL of a stranger on this machine, and the tokens that it was sent."""
    heard: list[str | None] = []
    handler = type("OneEar", (Ear,), {"heard": heard})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", heard
        server.shutdown()


@pytest.mark.parametrize("way", ["environment", "settings file", "link"])
def test_a_settings_file_does_not_get_another_folders_admin_token(
    cli: Cli, ear: tuple[str, list[str | None]], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, heard = ear
    mine, theirs = cli.folder / "mine", cli.folder / "theirs"
    mine.mkdir()
    theirs.mkdir()
    with serving(cli, "--data", str(mine / "data")):
        pass
    lines = [f'url = "{url}"']
    if way == "environment":
        monkeypatch.setenv("HEADWAY_DATA", str(mine / "data"))
    elif way == "settings file":
        lines.append(f'data = "{mine / "data"}"')
    else:
        (theirs / ".headway").symlink_to(mine / "data")
    (theirs / "headway.toml").write_text("\n".join(lines))
    monkeypatch.chdir(theirs)
    cli.call("jobs", "list", code=1)
    assert heard == [None]


def test_a_token_is_not_sent_to_the_server_of_a_settings_file(
    cli: Cli, ear: tuple[str, list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, heard = ear
    (cli.folder / "headway.toml").write_text(f'url = "{url}"')
    monkeypatch.setenv("HEADWAY_TOKEN", "mine")
    assert "HEADWAY_URL" in cli.error("jobs", "list", code=2)
    assert heard == []
    cli.call("--url", url, "jobs", "list", code=1)
    assert heard == ["Bearer mine"]


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_a_server_file_that_came_with_a_folder_is_not_followed(
    cli: Cli, ear: tuple[str, list[str | None]], mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, heard = ear
    data = cli.folder / ".headway"
    data.mkdir(mode=0o700)
    facts = {"pid": os.getpid(), "start_time": process_groups.start_time(os.getpid()), "url": url}
    (data / "server.json").write_text(json.dumps(facts))
    (data / "server.json").chmod(mode)
    monkeypatch.setenv("HEADWAY_TOKEN", "mine")
    cli.call("jobs", "list", code=0 if mode == 0o644 else 1)
    assert heard == ([] if mode == 0o644 else ["Bearer mine"])


def test_a_token_of_a_settings_file_is_not_sent_elsewhere(
    cli: Cli, ear: tuple[str, list[str | None]]
) -> None:
    url, heard = ear
    (cli.folder / "headway.toml").write_text('token = "theirs"')
    assert "HEADWAY_TOKEN" in cli.error("--url", url, "jobs", "list", code=2)
    assert heard == []
    (cli.folder / "headway.toml").write_text(f'token = "theirs"\nurl = "{url}"')
    cli.call("jobs", "list", code=1)
    assert heard == ["Bearer theirs"]


def test_the_admin_token_stays_on_this_machine(cli: Cli, ear: tuple[str, list[str | None]]) -> None:
    with serving(cli):
        pass
    url, heard = ear
    port = url.rpartition(":")[2]
    cli.call("--url", f"http://0.0.0.0:{port}", "jobs", "list", code=1)
    cli.call("--url", f"http://localhost:{port}", "jobs", "list", code=1)
    assert heard == [None, f"Bearer {token(cli)}"]


NAMED = ("app", "concurrency_policy", "group_failure_policy")
PLANTED = """
from pathlib import Path

import headway

Path("imported").touch()
app = headway.App()


class Policy:
    def lane_is_open(self, *_): ...
"""


@pytest.mark.parametrize("setting", NAMED)
@pytest.mark.parametrize(
    "words", [("jobs", "list"), ("submit", "x"), ("why", "1"), ("doctor",), ("gc",), ("status",)]
)
def test_only_servers_and_workers_import_code_that_a_settings_file_names(
    cli: Cli, setting: str, words: tuple[str, ...]
) -> None:
    cli.call("submit", "x")
    (cli.folder / "planted.py").write_text(PLANTED)
    (cli.folder / "headway.toml").write_text(f'{setting} = "planted:app"')
    cli.program(*words)
    assert not (cli.folder / "imported").exists()
    cli.program(*SERVE, "--host", "nowhere.invalid")
    assert (cli.folder / "imported").exists() or setting != "app"


def test_a_submit_says_that_the_apps_defaults_are_not_used(cli: Cli) -> None:
    (cli.folder / "headway.toml").write_text('app = "planted:app"')
    _, _, said = cli.program("submit", "x")
    assert "the defaults of planted:app are not used" in said


def test_the_admin_link_is_printed_to_a_terminal_only(cli: Cli) -> None:
    for words in (SERVE, (*SERVE, "--json")):
        with cli.start(*words) as process:
            assert process.stdout is not None
            said = process.stdout.readline()
            if "--json" not in words:
                said += process.stdout.readline()
            assert "127.0.0.1" in said
            assert "code=" not in said
    ours, theirs = pty.openpty()
    with subprocess.Popen([*PROGRAM, *SERVE], cwd=cli.folder, stdout=theirs) as shown:
        os.close(theirs)
        seen = b""
        while b"Press" not in seen:
            seen += os.read(ours, 1000)
        shown.terminate()
    os.close(ours)
    assert b"#code=" in seen
