"""`headway submit`."""

import json
import shlex

import pytest
from tests.cli.conftest import APP, Cli

FLOW = """
[[jobs]]
ref = "build"
job_type = "command"
params = {argv = ["make"]}

[[jobs]]
ref = "deploy"
job_type = "command"
params = {argv = ["make", "deploy"]}
after = ["ref:build"]
approval = true
"""

EVERYTHING = """
--priority high --queue slow --delay 5m --after 1:finished --needs file:a.txt
--produces file:b.txt --lock gpu --lock disk:shared --tag red --tag blue --timeout 1m30s
--retries 0 --requires gpu --cost 7 --limit resource:api=2 --approval
--webhook-url http://127.0.0.1:9/x
"""


def test_params_are_typed_as_pairs_and_values_that_are_json_are_read_as_such(cli: Cli) -> None:
    job = cli.json("submit", "story", "genre=horror", "length=3", 'tags=["a"]', "note=a=b")
    assert job["params"] == {"genre": "horror", "length": 3, "tags": ["a"], "note": "a=b"}
    job = cli.json("submit", "story", "length=4", "--params", '{"genre": "crime", "length": 3}')
    assert job["params"] == {"genre": "crime", "length": 4}
    job = cli.json("submit", "command", "--", "make", "CC=gcc")
    assert job["params"] == {"argv": ["make", "CC=gcc"]}
    assert "not KEY=VALUE" in cli.error("submit", "story", "genre", code=2)
    assert "not a JSON object" in cli.error("submit", "story", "--params", "[1]", code=2)


def test_every_option_reaches_the_job(cli: Cli) -> None:
    cli.call("limits", "set", "resource:api", "5")
    first = cli.json("submit", "story", "--unique-key", "only", "--idempotency-key", "once")
    job = cli.json("submit", "story", *shlex.split(EVERYTHING))
    assert (job["priority"], job["queue"], job["timeout_s"]) == (10, "slow", 90)
    assert [(one["number"], one["policy"]) for one in job["after"]] == [(1, "finished")]
    assert (job["needs"], job["produces"]) == (["file:a.txt"], ["file:b.txt"])
    assert {one["key"]: one["mode"] for one in job["locks"]} == {
        "gpu": "exclusive",
        "disk": "shared",
    }
    assert (sorted(job["tags"]), job["requires"]) == (["blue", "red"], ["gpu"])
    assert (job["cost_units"], job["limits"]) == (7, {"resource:api": 2})
    assert job["retry_policy"]["max_attempts"] == 0
    assert job["approval"] == "PENDING"
    assert job["scheduled_for"] > job["created_at"]
    assert job["webhook_url"] == "http://127.0.0.1:9/x"
    again = cli.json("submit", "story", "--unique-key", "only", "--idempotency-key", "once")
    assert again["job_id"] == first["job_id"]


def test_options_that_make_no_sense_are_refused(cli: Cli) -> None:
    assert "2030-01-31T18:30" in cli.error("submit", "story", "--at", "soon", code=2)
    assert "time span" in cli.error("submit", "story", "--delay", "soon", code=2)
    policies = "'later' in '1:later' is not one of success, finished, failure"
    assert policies in cli.error("submit", "story", "--after", "1:later", code=2)
    pinned = cli.error("submit", "story", "--pinned-head", "main", code=2)
    assert "--pinned-head: write it as BRANCH@COMMIT" in pinned
    for none in ("0", "0s", "0.0m"):
        said = cli.error("submit", "story", "--timeout", none, code=2)
        assert "--timeout: must be more than 0" in said
    assert "--every: must be more" in cli.error("schedules", "create", "x", "--every", "0", code=2)
    assert "there is no job" in cli.error("submit", "story", "--after", "9", code=2)
    assert "is not defined" in cli.error("submit", "story", "--limit", "nope", code=2)
    problem = json.loads(cli.error("submit", "story", "--limit", "nope", "--json", code=2))
    assert problem["code"] == "unknown_limit"
    for words in (["a=\udcff"], ["\udcff=1"], ["--params", "\udcff"], ["--tag", "\udcff"]):
        assert cli.error("submit", "story", *words, code=2)  # bytes that are no text
    assert "No jobs" in cli.text("jobs", "list", "--all")


def test_text_that_looks_like_a_number_is_hinted_at(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli.folder / "shop.py").write_text(APP)
    monkeypatch.setenv("HEADWAY_APP", "shop:app")
    said = cli.error("submit", "story", "genre=5", code=2)
    assert """if it is text, put quotes within quotes: genre='"5"'\n""" in said
    cli.call("submit", "story", 'genre="5"')
    assert cli.json("jobs", "show", "1")["params"] == {"genre": "5"}
    assert "quotes" not in cli.error("submit", "story", "genre=x", "length=x", code=2)


def test_a_file_is_submitted_as_a_whole_or_not_at_all(cli: Cli) -> None:
    flow = cli.folder / "flow.toml"
    flow.write_text(FLOW)
    made = cli.json("submit", "--file", "flow.toml")
    assert [(one["ref"], one["number"]) for one in made["jobs"]] == [("build", 1), ("deploy", 2)]
    circle = {"jobs": [{"ref": "a", "job_type": "x", "after": ["ref:b"]}]}
    circle["jobs"].append({"ref": "b", "job_type": "x", "after": ["ref:a"]})
    (cli.folder / "circle.json").write_text(json.dumps(circle))
    assert "->" in cli.error("submit", "--file", "circle.json", code=2)
    assert "unknown field" in _refused(cli, '{"jobs": [{"job_type": "x", "colour": "red"}]}')
    wrong = '{"jobs": [{"job_type": "x"}, {"ref": "b", "job_type": "x", "priority": "soon"}]}'
    assert "jobs[1] (ref 'b'): " in _refused(cli, wrong)
    assert "bad.json is not JSON, and a file of TOML has a name that" in _refused(cli, "jobs")
    assert "No such file" in cli.error("submit", "--file", "nowhere.toml", code=2)
    assert len(cli.json("jobs", "list")["items"]) == 2


def test_a_job_is_found_by_its_name_which_in_a_file_is_its_ref(cli: Cli) -> None:
    (cli.folder / "flow.toml").write_text(FLOW)
    cli.call("submit", "--file", "flow.toml")
    cli.call("submit", "story", "--name", "Nightly report")
    assert _listed(cli, "--name", "Nightly report") == [3]
    assert _listed(cli, "--search", "nightly", "--since", "1h") == [3]
    assert _listed(cli, "--search", "nightly", "--until", "1h") == []
    assert _listed(cli, "--search", "build") == [1]
    assert "Nightly report" in cli.text("jobs", "list").splitlines()[1]
    assert "Nightly report" in cli.text("jobs", "show", "3")
    assert cli.text("why", "3").startswith("Job 3 Nightly report is ")
    assert "[build: " in cli.text("jobs", "schedule")
    assert "no letters or digits" in cli.error("jobs", "list", "--search", "--", code=2)
    assert "cannot read 'soon'" in cli.error("jobs", "list", "--since", "soon", code=2)


def _listed(cli: Cli, *words: str) -> list[int]:
    return [one["number"] for one in cli.json("jobs", "list", *words)["items"]]


def _refused(cli: Cli, text: str) -> str:
    (cli.folder / "bad.json").write_text(text)
    return cli.error("submit", "--file", "bad.json", code=2)


def test_the_jobs_of_a_file_take_results_from_each_other(cli: Cli) -> None:
    (cli.folder / "flow.toml").write_text(
        """
        [[jobs]]
        ref = "count"
        job_type = "count"

        [[jobs]]
        job_type = "command"
        params = {argv = ["echo", {"$result" = "ref:count", path = "lines.0"}]}
        """
    )
    first, second = cli.json("submit", "--file", "flow.toml")["jobs"]
    job = cli.json("jobs", "show", str(second["number"]))
    taken = {"$result": first["job_id"], "path": "lines.0"}
    assert job["params"] == {"argv": ["echo", taken]}
    assert [one["job"] for one in job["after"]] == [first["job_id"]]
    one = cli.json("submit", "echo", f'text={{"$result": {first["number"]}}}')
    assert one["params"] == {"text": {"$result": first["job_id"]}}
    problem = cli.error("submit", "echo", 'text={"$result": 99}', code=2)
    assert "params.text: there is no job 99" in problem


def test_the_answer_names_other_jobs_by_their_numbers(cli: Cli) -> None:
    cli.call("submit", "story")
    assert cli.text("submit", "story", "--after", "1") == (
        "Job 2 waiting_on_deps: waiting on job 1\n"
    )


def test_a_template_can_be_submitted(cli: Cli) -> None:
    cli.call("templates", "create", "nightly", "story", "genre=horror", "length=3")
    job = cli.json("submit", "--template", "nightly", "length=9")
    assert job["params"] == {"genre": "horror", "length": 9}
    assert "there is no template" in cli.error("submit", "--template", "weekly", code=2)


def test_a_head_is_pinned_by_its_branch_and_commit(cli: Cli) -> None:
    complaint = cli.error("submit", "story", "--pinned-head", "main@0123abc", code=2)
    assert "not a git repository" in complaint
    assert "is not a commit" in cli.error("submit", "story", "--pinned-head", "main@HEAD", code=2)


def test_retries_and_repeated_successes_are_told_to_a_submit(cli: Cli) -> None:
    words = ("--retries", "5", "--retry-delay", "30s", "--max-retry-delay", "2m", "--jitter")
    more = ("--backoff", "fixed", "--max-crashes", "2")
    policy = cli.json("submit", "story", *words, *more)["retry_policy"]
    assert policy == {
        **{"max_attempts": 5, "base_delay_s": 30, "max_delay_s": 120, "jitter": True},
        **{"backoff": "fixed", "max_crashes": 2},
    }
    job = cli.json("submit", "story", "--dedup-key", "daily", "--dedup-window", "12h")
    assert (job["dedup_key"], job["dedup_window_s"]) == ("daily", 43200)
    assert cli.json("submit", "story", "--start-within", "10m")["start_within_s"] == 600
    for alone in (("--dedup-key", "daily"), ("--dedup-window", "12h")):
        assert "goes together with" in cli.error("submit", "story", *alone, code=2)


def test_params_of_a_command_can_be_given_by_name(cli: Cli) -> None:
    for name in ("env", "secret_env"):
        params = cli.json("submit", "command", f'{name}={{"A": "b"}}', 'argv=["make"]')["params"]
        assert params == {name: {"A": "b"}, "argv": ["make"]}
