"""`headway repair --salvage`: from a damaged file to a store that serves."""

from pathlib import Path

import pytest
from tests.cli.conftest import Cli

JOBS = 60


@pytest.fixture
def damaged(cli: Cli) -> Cli:
    """A store in which the page with the params of some jobs is gone."""
    for number in range(JOBS):
        cli.call("submit", "story", f"genre={'horror' * 60}", f"number={number}")
    file = cli.folder / ".headway" / "headway.db"
    content = bytearray(file.read_bytes())
    at = content.index(b"horror" * 60) // 4096 * 4096
    content[at : at + 4096] = bytes(4096)
    file.write_bytes(content)
    return cli


def test_a_damaged_file_is_saved_and_put_in_place(damaged: Cli) -> None:
    before = (damaged.folder / ".headway" / "headway.db").read_bytes()
    said = damaged.text("repair", "--salvage", "saved.db")
    assert "SQLite finds wrong with .headway/headway.db:" in said
    assert f"{JOBS:>10,}  jobs\n" in said
    assert "its params are shown as lost" in said
    assert "mkdir damaged && mv .headway/headway.db* damaged/" in said
    assert "mv saved.db .headway/headway.db" in said
    assert (damaged.folder / ".headway" / "headway.db").read_bytes() == before
    (damaged.folder / "damaged").mkdir()
    for file in damaged.folder.glob(".headway/headway.db*"):
        file.rename(damaged.folder / "damaged" / file.name)
    Path("saved.db").rename(".headway/headway.db")
    assert damaged.json("verify")["ok"]
    jobs = damaged.json("jobs", "list", "--all", "-n", "200")["items"]
    lost = [one for one in jobs if one["status"] == "CANCELLED"]
    assert 0 < len(lost) < 15
    assert {one["wait_reason"]["detail"] for one in lost} == {"its params were lost"}
    kept = [one for one in jobs if one["status"] == "QUEUED"]
    assert len(kept) + len(lost) == JOBS
    assert all(len(one["params"]["genre"]) == 360 for one in kept)


def test_its_answer_in_json_has_what_was_lost(damaged: Cli) -> None:
    answer = damaged.json("repair", "--salvage", "saved.db")
    assert answer["damage"]
    assert answer["tables"]["jobs"] == {
        "saved": JOBS,
        "lost": 0,
        "damaged_pages": 0,
        "lost_keys": [],
    }
    assert answer["tables"]["payloads"]["lost"] == len(answer["mended"])
    assert answer["problems"] == []


def test_what_cannot_be_salvaged_is_refused(cli: Cli) -> None:
    assert "there is no store" in cli.error("repair", "--salvage", "saved.db", code=3)
    cli.call("submit", "story")
    (cli.folder / "mine.db").write_text("mine")
    assert "already exists" in cli.error("repair", "--salvage", "mine.db", code=4)
    assert "make it first" in cli.error("repair", "--salvage", "no/saved.db", code=2)
    said = cli.error("repair", "--salvage", "saved.db", "--db", "postgresql:///x", code=2)
    assert "restore a backup of a PostgreSQL database" in said


def test_a_file_in_use_is_refused(served: Cli) -> None:
    assert "stop it first" in served.error("repair", "--salvage", "saved.db", code=4)
