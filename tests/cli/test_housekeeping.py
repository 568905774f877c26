"""`gc`, `backup`, `verify`, `migrate`, `doctor`, `top`, `pause`."""

import os
import pty
import sqlite3
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import PROGRAM, WAIT_S, Cli


def test_garbage_is_collected_and_the_rest_stays(cli: Cli) -> None:
    for _ in range(3):
        cli.call("submit", "story")
    cli.call("jobs", "cancel", "1")
    cli.call("jobs", "cancel", "2")
    assert cli.json("gc", "--older-than", "1h") == {"jobs": 0, "runs": 0, "records": 0}
    assert "0s is less than 1s" in cli.error("gc", "--older-than", "0s", code=2)
    with sqlite3.connect(".headway/headway.db") as database:
        database.execute("UPDATE jobs SET finished_at = finished_at - 5000")
    would = cli.text("gc", "--older-than", "2s", "--dry-run")
    assert would == "Would remove 2 jobs and 0 runs from more than 2s ago\n"
    assert cli.json("jobs", "gc", "--older-than", "2s") == {"jobs": 2, "runs": 0, "records": 0}
    assert [one["number"] for one in cli.json("jobs", "list", "--all")["items"]] == [3]
    assert "cannot read 'old'" in cli.error("gc", "--older-than", "old", code=2)
    assert "where the data is" in cli.error("gc", "--url", "http://127.0.0.1:9", code=2)


def test_a_backup_can_be_opened_and_an_old_one_is_not_overwritten(cli: Cli) -> None:
    cli.call("submit", "story")
    assert cli.json("backup", "copy.db")["bytes"] > 0
    assert "already exists" in cli.error("backup", "copy.db", code=4)
    cli.call("backup", "copy.db", "--force")
    own = ".headway/headway.db"
    before = (cli.folder / own).stat().st_ino
    assert "the database itself" in cli.error("backup", own, "--force", code=4)
    assert (cli.folder / own).stat().st_ino == before
    copied = cli.json("jobs", "list", "--db", "sqlite:///copy.db")
    assert len(copied["items"]) == 1


def test_a_backup_that_cannot_be_written_is_named(cli: Cli) -> None:
    cli.call("submit", "story")
    said = cli.error("backup", "nowhere/copy.db", code=2)
    assert "nowhere/copy.db: there is no folder nowhere" in said


def test_verify_finds_what_is_wrong(cli: Cli) -> None:
    cli.call("submit", "story")
    assert cli.json("verify") == {"ok": True, "problems": [], "advice": None}
    with sqlite3.connect(".headway/headway.db") as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute("UPDATE jobs SET status = 'RUNNING' WHERE number = 1")
    assert "job 1 is RUNNING without a lease" in cli.text("verify", code=1)


def damage(file: Path, *, whole: bool) -> None:
    """Overwrite the beginning of the file, or only the pages with the params of jobs."""
    content = bytearray(file.read_bytes())
    if whole:
        content[:100] = b"x" * 100
    else:
        content = content.replace(b"horror" * 100, b"\xff" * 600)
        at = content.index(b"\xff" * 600) // 4096 * 4096
        content[at : at + 4096] = bytes(4096)
    file.write_bytes(content)


@pytest.mark.parametrize("whole", [True, False])
def test_verify_says_what_to_do_with_a_damaged_file(cli: Cli, whole: bool) -> None:
    for _ in range(3):
        cli.call("submit", "story", f"genre={'horror' * 300}")
    damage(cli.folder / ".headway" / "headway.db", whole=whole)
    said = cli.call("verify", code=1)
    shown = said.stdout + said.stderr
    assert "headway.db is damaged" in shown
    assert "put " in shown
    assert "restore a backup" in shown
    assert "headway repair --salvage saved.db" in shown
    for words in (["jobs", "list"], ["top", "--once"]):
        assert "restore a backup" in cli.error(*words, code=1)


def test_migrations_are_applied_once(cli: Cli) -> None:
    assert cli.json("migrate")["applied"][0].startswith("0001")
    assert cli.text("migrate") == "The database is up to date\n"


def test_a_whole_store_is_carried_over_to_an_empty_database(cli: Cli) -> None:
    cli.call("submit", "story")
    way = ("--from", "sqlite:///.headway/headway.db", "--to", "sqlite:///new/headway.db")
    assert cli.json("migrate", *way)["copied"]["jobs"] == 1
    assert len(cli.json("jobs", "list", "--data", "new")["items"]) == 1
    assert "not empty" in cli.error("migrate", *way, code=4)
    assert "both --from and --to" in cli.error("migrate", "--from", "sqlite:///x.db", code=2)


def test_a_store_that_is_not_there_is_not_made_by_carrying_it_over(cli: Cli) -> None:
    words = ("migrate", "--from", "sqlite:///nope.db", "--to", "sqlite:///new.db")
    assert "--from: nope.db does not exist" in cli.error(*words, code=2)
    assert list(cli.folder.iterdir()) == []


def test_who_only_looks_leaves_no_store_behind_and_hears_that_there_is_none(cli: Cli) -> None:
    said = f"there is no store in {cli.folder / '.headway'}; `headway serve` makes one"
    for words in (["jobs", "list"], ["top", "--once"], ["jobs", "status"], ["workers", "list"]):
        assert said in cli.call(*words).stderr
    assert cli.json("jobs", "list") == {"items": [], "next_cursor": None}
    for words in (["why", "1"], ["jobs", "cancel", "1"], ["verify"], ["gc"], ["backup", "x.db"]):
        assert said in cli.error(*words, code=3)
    assert list(cli.folder.iterdir()) == []
    cli.call("limits", "set", "gpu", "1")
    assert cli.call("jobs", "list").stderr == ""


def test_doctor_is_content_with_an_empty_folder_and_changes_nothing(cli: Cli) -> None:
    assert "No problems found" in cli.text("doctor")
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("trouble", "subject", "mend"),
    [
        ("settings", "settings", "fix headway.toml"),
        ("server", "server", "headway serve"),
        ("database", "database", "backup"),
        ("migrations", "database", "headway migrate"),
        ("data", "data", "another --data"),
        ("readable data", "data", "chmod 700 .headway"),
    ],
)
def test_doctor_says_how_to_mend(cli: Cli, trouble: str, subject: str, mend: str) -> None:
    _make(trouble, cli.folder)
    answer = cli.json("doctor", code=1)
    ill = [one for one in answer["findings"] if not one["ok"]]
    assert [one["subject"] for one in ill] == [subject]
    assert mend in ill[0]["mend"]
    assert "fix: " in cli.text("doctor", code=1)


def test_doctor_says_how_to_mend_an_app(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "broken_shop.py").write_text("1 / 0")
    monkeypatch.setenv("HEADWAY_APP", "broken_shop:app")
    (ill,) = [one for one in cli.json("doctor", code=1)["findings"] if not one["ok"]]
    assert (ill["subject"], "fix the module" in ill["mend"]) == ("app", True)


def _make(trouble: str, folder: Path) -> None:
    data = folder / ".headway"
    if trouble == "data":
        data.write_text("not a folder")
        return
    data.mkdir(mode=0o700)
    if trouble == "settings":
        (folder / "headway.toml").write_text("slots = 'many'")
    elif trouble == "server":
        (data / "server.json").write_text('{"pid": 1, "start_time": "x", "url": "http://x"}')
    elif trouble == "readable data":
        data.chmod(0o755)
    elif trouble == "database":
        (data / "headway.db").write_text("not a database, " * 100)
    else:
        sqlite3.connect(data / "headway.db").close()
        (data / "headway.db").touch()


def test_doctor_says_which_setting_names_no_database(cli: Cli) -> None:
    answer = cli.json("doctor", "--db", "sqlite://relative.db", code=1)
    assert [one["subject"] for one in answer["findings"] if not one["ok"]] == ["database"]


def test_a_broken_plug_in_is_told_about_and_stops_nothing_else(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = cli.folder / "packages" / "broken-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    entries = "[headway.artifacts]\nbucket = nobody_has_it:check\nfile = builtins:print\n"
    (package / "entry_points.txt").write_text(entries)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    code, _, err = cli.program("run", "--", "true")
    assert (code, err.splitlines()[:2]) == (
        0,
        [
            "artifact kind 'bucket': the plug-in nobody_has_it:check could not be loaded:"
            " ModuleNotFoundError: No module named 'nobody_has_it'",
            "artifact kind 'file': the plug-in builtins:print is not used: this kind is built in",
        ],
    )
    code, _, err = cli.program("submit", "story", "--needs", "bucket:x")
    assert (code, "nobody_has_it:check could not be loaded" in err.splitlines()[-1]) == (2, True)
    monkeypatch.syspath_prepend(str(package.parent))
    ill = [one for one in cli.json("doctor", code=1)["findings"] if not one["ok"]]
    assert [one["subject"] for one in ill] == ["plug-ins"]
    assert "nobody_has_it" in ill[0]["detail"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "99999"), "--port: 99999 is not between 0 and 65535"),
        (("--slots", "0"), "--slots: 0 is not between 1 and 10000"),
        (("--slots", "-3"), "--slots: -3 is not between 1 and 10000"),
        (("--workspace", "nowhere"), "--workspace: nowhere is not a folder"),
        (("--host", "999.1.1.1", "--port", "0"), "--host: 999.1.1.1 is no address of this machine"),
        (("--host", "192.0.2.1", "--port", "0"), "--host: 192.0.2.1 is no address of this machine"),
    ],
)
def test_serve_refuses_options_that_make_no_sense(
    cli: Cli, words: tuple[str, ...], said: str
) -> None:
    assert said in cli.error("serve", *words, code=2)


def test_a_setting_that_makes_no_sense_is_named_by_its_variable(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_WORKSPACE", "nowhere")
    assert "HEADWAY_WORKSPACE: nowhere is not a folder" in cli.error("serve", code=2)


def test_q_leaves_top(cli: Cli) -> None:
    cli.call("migrate")
    ours, theirs = pty.openpty()
    program = [*PROGRAM, "top", "--every", "60"]
    with subprocess.Popen(program, cwd=cli.folder, stdin=theirs, stdout=theirs) as top:
        seen = b""
        while b"0 waiting" not in seen:
            seen += os.read(ours, 1000)
        os.write(ours, b"q")
        try:
            assert top.wait(WAIT_S) == 0
        finally:
            top.kill()
    os.close(ours)
    os.close(theirs)


def test_pauses_show_and_are_lifted(cli: Cli) -> None:
    assert "Paused: everything" in cli.text("pause")
    assert "Paused: job type story" in cli.text("pause", "--type", "story")
    assert "Paused: all, type story" in cli.text("top")
    assert cli.json("resume")["paused"] == []
    assert "no worker is alive" in cli.text("top", "--once")
    assert cli.json("top")["queue_length"] == 0


def test_how_long_what_ended_is_kept_is_a_setting(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.call("migrate")
    assert _told_of_retention(cli) == "a server removes what ended 30d ago"
    monkeypatch.setenv("HEADWAY_RETENTION", "never")
    assert _told_of_retention(cli) == "nothing is removed by itself"
    for wrong, problem in (("soon", "or never"), ("0s", "less than 1s")):
        monkeypatch.setenv("HEADWAY_RETENTION", wrong)
        told = cli.error("serve", code=2)
        assert "HEADWAY_RETENTION: " in told
        assert problem in told


def _told_of_retention(cli: Cli) -> str:
    found = {one["subject"]: one["detail"] for one in cli.json("doctor")["findings"]}
    return str(found["retention"])
