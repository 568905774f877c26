"""Events, locks, artifacts, reservations."""

import json
import signal

from tests.cli.conftest import WAIT_S, Cli


def test_the_last_events_are_shown_oldest_first(cli: Cli) -> None:
    assert cli.text("events") == "No events\n"
    for _ in range(3):
        cli.call("submit", "story")
    cli.call("jobs", "cancel", "1")
    whole = cli.json("events")["items"]
    assert [one["number"] for one in whole][:3] == [1, 2, 3]
    assert cli.json("events", "-n", "1")["items"] == whole[-1:]
    assert cli.json("events", "-n", "0")["items"] == []
    assert cli.json("events", "--after", str(whole[1]["seq"]))["items"] == whole[2:]
    title, *lines = cli.text("events", "-n", "2").splitlines()
    assert title.split() == ["TIME", "JOB", "EVENT", "DETAIL"]
    assert [line.split()[2:4] for line in lines][-1] == ["1", "job.finished"]
    assert cli.error("events", "-n", "201", code=2)


def test_events_are_followed_as_they_happen(served: Cli) -> None:
    served.call("submit", "story", "genre=horror")
    seq = served.json("events", "-n", "1")["items"][0]["seq"]
    with served.start("events", "--follow", "--after", "0", "--json") as feed:
        assert feed.stdout is not None
        first = json.loads(feed.stdout.readline())
        assert (first["kind"], first["number"]) == ("job.submitted", 1)
        served.call("submit", "story", "genre=comedy")
        seen = [first]
        while seen[-1]["number"] != 2 or seen[-1]["kind"] != "job.finished":
            seen.append(json.loads(feed.stdout.readline()))
        feed.send_signal(signal.SIGINT)
        assert feed.wait(WAIT_S) == 130
    numbers = [one["seq"] for one in seen]
    assert numbers == sorted(set(numbers))
    assert seq in numbers


def test_following_from_now_leaves_out_what_was(served: Cli) -> None:
    served.call("submit", "story", "genre=horror")
    served.call("jobs", "wait", "1")
    with served.start("events", "--follow", "-n", "0") as feed:
        assert feed.stdout is not None
        assert feed.stdout.readline().startswith("TIME ")
        served.call("submit", "muse")
        assert feed.stdout.readline().split()[2:4] == ["2", "job.submitted"]
        feed.send_signal(signal.SIGINT)
        assert feed.wait(WAIT_S) == 130
    (served.folder / "inspired").touch()


def test_there_is_nothing_to_follow_without_a_store(cli: Cli) -> None:
    assert "there is no store" in cli.error("events", "--follow", code=3)


def test_locks_name_who_holds_them_and_how_many_wait(served: Cli) -> None:
    assert served.text("locks") == "No lock is held or waited for\n"
    served.call("submit", "muse", "--lock", "gpu")
    served.call("submit", "muse", "--lock", "gpu")
    with served.start("events", "--follow", "--after", "0") as feed:
        assert feed.stdout is not None
        while "job.started" not in feed.stdout.readline():
            pass
    lines = served.text("locks").splitlines()
    assert lines[0].split() == ["LOCK", "HELD", "BY", "MODE", "FOR", "WAITING"]
    assert lines[1].split()[:4] == ["gpu", "job", "1", "exclusive"]
    assert lines[1].endswith(" 1")
    assert served.json("locks")["items"][0]["holders"][0]["number"] == 1
    (served.folder / "inspired").touch()


def test_artifacts_are_marked_as_present_and_missing(cli: Cli) -> None:
    cli.call("submit", "story", "--needs", "custom:data:set:1", "--missing-producer", "wait")
    assert cli.text("artifacts", "put", "custom:data:set:1") == "Present: custom:data:set:1\n"
    assert cli.json("jobs", "status", "1")["status"] == "QUEUED"
    assert "custom:data:set:1" in cli.text("artifacts", "list")
    assert cli.text("artifacts", "remove", "custom:data:set:1") == "Missing: custom:data:set:1\n"
    assert cli.json("jobs", "status", "1")["status"] == "WAITING_ON_DEPS"
    assert cli.text("artifacts", "list") == "No custom artifact is present\n"
    assert "there is no artifact" in cli.error("artifacts", "remove", "custom:data:set:1", code=3)
    for wrong in ("file:x", "custom:data", "data"):
        assert "is not custom:TYPE:KEY" in cli.error("artifacts", "put", wrong, code=2)


def test_the_next_slot_is_reserved_and_released(cli: Cli) -> None:
    assert cli.text("reservations", "list") == "No reservations\n"
    made = cli.call("reservations", "create", "upkeep")
    reservation = made.stdout.strip()
    assert f"headway reservations release {reservation}" in made.stderr
    assert "reserved by upkeep" in cli.error("reservations", "create", "other", code=4)
    assert cli.text("reservations", "list").splitlines()[1].endswith("  upkeep")
    said = cli.call("submit", "story")
    assert said.stdout == "Job 1 queued: the next slot is reserved by upkeep\n"
    assert said.stderr == "it starts when a server or a worker runs\n"
    released = cli.text("reservations", "release", reservation)
    assert released == "Reservation of upkeep: released\n"
    assert cli.json("reservations", "list")["items"][0]["state"] == "RELEASED"
    assert "there is no reservation" in cli.error("reservations", "release", "x", code=3)
