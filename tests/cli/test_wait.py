"""`jobs wait` and `jobs last`."""

import json
import signal

from tests.cli.conftest import WAIT_S, Cli


def test_waiting_ends_when_every_job_has(served: Cli) -> None:
    served.call("submit", "muse")
    served.call("submit", "story", "genre=horror")
    with served.start("jobs", "wait", "1", "2") as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "Job 2 succeeded\n"
        (served.folder / "inspired").touch()
        out, _ = waiting.communicate(timeout=WAIT_S)
    assert (waiting.returncode, out) == (0, "Job 1 succeeded\n")
    assert served.json("jobs", "wait", "2")["result_data"] == "horror"
    both = served.json("jobs", "wait", "2", "1", "2")["items"]
    assert [one["result_data"] for one in both] == ["horror", None]


def test_waiting_says_what_failed_and_what_is_blocked(served: Cli) -> None:
    served.call("submit", "strain", "--retries", "0")
    served.call("submit", "story", "genre=horror", "--after", "1")
    assert "Job 1 failed: ValueError: too heavy\n" in served.text("jobs", "wait", "1", "2", code=1)
    blocked = served.text("jobs", "wait", "2", code=10)
    assert blocked.startswith("Job 2 blocked_by_dependency: dependency failed for job 1")
    assert "there is no job 9" in served.error("jobs", "wait", "9", code=3)


def test_waiting_follows_the_retries(served: Cli) -> None:
    served.call("submit", "strain", "--retries", "1", "--retry-delay", "0.01s")
    assert "Job 1 failed after 2 attempts: Val" in served.text("jobs", "wait", "1", code=1)


def test_waiting_gives_up_in_time_and_says_what_ended(cli: Cli) -> None:
    cli.call("submit", "story")
    cli.call("submit", "story")
    cli.call("jobs", "cancel", "2")
    said = cli.call("jobs", "wait", "1", "2", "--timeout", "0.01s", code=1)
    assert said.stdout == "Job 2 cancelled\n"
    assert "no server and no worker is running" in said.stderr
    assert said.stderr.endswith("error: job 1 has not finished; it is QUEUED\n")
    told = cli.call("jobs", "wait", "1", "2", "--timeout", "0.01s", "--json", code=1)
    assert [one["status"] for one in json.loads(told.stdout)["items"]] == ["CANCELLED"]
    assert json.loads(told.stderr)["code"] == "not_finished"
    assert "--timeout: must be more than 0" in cli.error(
        "jobs", "wait", "1", "--timeout", "0", code=2
    )


def test_an_interrupted_wait_leaves_the_jobs_alone(served: Cli) -> None:
    served.call("submit", "muse")
    served.call("submit", "story", "genre=horror")
    with served.start("jobs", "wait", "2", "1") as waiting:
        assert waiting.stdout is not None
        waiting.stdout.readline()
        waiting.send_signal(signal.SIGINT)
        _, err = waiting.communicate(timeout=WAIT_S)
    assert (waiting.returncode, err) == (130, "")
    assert served.json("jobs", "status", "1")["status"] == "RUNNING"
    (served.folder / "inspired").touch()


def test_the_newest_job_is_shown_or_its_number(cli: Cli) -> None:
    assert "there is no job yet" in cli.error("jobs", "last", code=3)
    cli.call("submit", "story", "genre=horror")
    cli.call("submit", "muse", "--tag", "slow")
    assert cli.text("jobs", "last").startswith("job        2\n")
    assert cli.text("jobs", "last", "--number", "--type", "story") == "1\n"
    assert cli.json("jobs", "last", "--tag", "slow")["number"] == 2
    assert "there is no job like that" in cli.error("jobs", "last", "--status", "failed", code=3)
