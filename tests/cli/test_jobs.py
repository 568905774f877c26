"""`headway jobs …` and `headway why`."""

import contextlib
import json
import re

import pytest
from tests.cli.conftest import Cli
from tests.helpers import claim, finish

from headway import local_wiring, settings
from headway.domain.runs import RunStatus
from headway.operations.local import LocalTransport, local_principal
from headway.scheduler.explain import why

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def test_the_list_hides_ended_jobs_and_says_so(cli: Cli) -> None:
    assert cli.text("jobs", "list") == "No active jobs\n"
    for _ in range(3):
        cli.call("submit", "story", "--tag", "red")
    cli.call("jobs", "cancel", "1")
    cli.call("jobs", "cancel", "2", "--reason", "enough")
    shown = cli.text("jobs", "list")
    assert shown.splitlines()[0].split()[:3] == ["JOB", "STATUS", "AGE"]
    assert [line.split()[0] for line in shown.splitlines()[1:]] == ["3", "Hidden:"]
    assert "Hidden: 2 cancelled, use --all" in shown
    assert "Hidden" not in cli.text("jobs", "list", "--all")
    numbers = [one["number"] for one in cli.json("jobs", "list", "--all")["items"]]
    assert numbers == [3, 2, 1]
    assert len(cli.json("jobs", "list", "--status", "cancelled")["items"]) == 2
    assert cli.json("jobs", "list", "--tag", "blue")["items"] == []
    page = cli.json("jobs", "list", "--all", "--limit", "1")
    assert (len(page["items"]), bool(page["next_cursor"])) == (1, True)
    assert "is not one of" in cli.error("jobs", "list", "--status", "tired", code=2)


def test_exit_codes_tell_what_went_wrong(cli: Cli) -> None:
    cli.call("migrate")
    assert cli.error("jobs", "show", "7", code=3) == "error: there is no job 7\n"
    assert json.loads(cli.error("jobs", "show", "7", "--json", code=3)) == {
        "code": "not_found",
        "detail": "there is no job 7",
    }
    cli.call("submit", "story")
    cli.call("jobs", "cancel", "1")
    assert cli.error("jobs", "cancel", "1", code=4) == "error: job 1 is not active\n"
    assert "not awaiting approval" in cli.error("jobs", "approve", "1", code=4)
    assert "has not run yet" in cli.error("jobs", "tail", "1", code=4)


@pytest.mark.parametrize("where", ["cli", "served"])
def test_a_reference_that_is_no_job_is_no_other_page_either(
    where: str, request: pytest.FixtureRequest
) -> None:
    cli: Cli = request.getfixturevalue(where)
    cli.call("submit", "command", "--delay", "1h", "--", "true")
    for word in ("show", "cancel", "approve", "result", "events"):
        assert "is empty" in cli.error("jobs", word, "", code=2)
        assert cli.error("jobs", word, "1/why", code=3) == "error: there is no job '1/why'\n"
        assert "there is no job 'batch'" in cli.error("jobs", word, "batch", code=3)
    assert "is empty" in cli.error("tokens", "revoke", "", code=2)


def test_a_sheet_shows_what_is_known_and_no_ids_of_other_jobs(cli: Cli) -> None:
    cli.call("submit", "story", "genre=horror", "--lock", "gpu:shared")
    cli.call("submit", "story", "--after", "1", "--tag", "red")
    sheet = cli.text("jobs", "show", "2")
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in sheet.splitlines())
    assert facts["reason"] == "waiting on job 1"
    assert (facts["after"], facts["tags"]) == ("1 (success)", "red")
    assert "gpu:shared" in cli.text("jobs", "show", "1")
    assert cli.text("jobs", "status", "2") == "waiting_on_deps\n"
    assert cli.json("jobs", "status", "2")["status"] == "WAITING_ON_DEPS"
    assert "2 waiting" in cli.text("jobs", "status")
    assert "job.submitted" in cli.text("jobs", "events", "2")


def test_a_result_is_shown_in_short_and_given_as_a_whole(cli: Cli) -> None:
    cli.call("submit", "story")
    assert "has not finished" in cli.error("jobs", "result", "1", code=3)
    long = {"text": "x" * 1000, "pages": 3}
    with contextlib.closing(local_wiring.local_client(settings.load())) as client:
        assert isinstance(client.transport, LocalTransport)
        scheduler = client.transport.scheduler
        finish(scheduler, claim(scheduler), result=long)
        cli.call("submit", "story", "--retries", "0")
        finish(scheduler, claim(scheduler), RunStatus.FAILED, error="no ink\n\nTraceback:\n  raise")
    sheet = cli.text("jobs", "show", "1")
    assert len(re.findall("xxx", sheet)) < 200
    assert re.search(r"full result +headway jobs result 1\n", sheet)
    assert json.loads(cli.text("jobs", "result", "1")) == long
    assert cli.json("jobs", "result", "1")["result_data"] == long
    assert re.search(r"error +no ink\n", cli.text("jobs", "show", "2"))
    assert cli.text("runs", "list", "--job", "2").splitlines()[1].endswith("  no ink")
    assert cli.error("jobs", "attach", "2", code=1) == "job 2 failed: no ink\n"
    assert "failed: no ink" in cli.error("jobs", "result", "2", code=1)


def test_after_a_rewind_what_the_job_said_before_is_history(cli: Cli) -> None:
    cli.program("run", "--", "sh", "-c", "echo OLD; exit 3")
    (old,) = cli.json("runs", "list", "--job", "1")["items"]
    assert re.search("error +exited with code 3", cli.text("jobs", "show", "1"))
    cli.call("jobs", "retry", "1")
    assert "exited" not in cli.text("jobs", "show", "1")
    assert "has not run yet" in cli.error("jobs", "tail", "1", code=4)
    assert cli.text("runs", "logs", old["run_id"]) == "OLD\n"
    cli.call("jobs", "cancel", "1")
    assert cli.error("jobs", "attach", "1", code=143) == "job 1 cancelled\n"


def test_a_job_that_failed_is_told_with_its_retry(cli: Cli) -> None:
    cli.call("submit", "story", "--retries", "1")
    with contextlib.closing(local_wiring.local_client(settings.load())) as client:
        assert isinstance(client.transport, LocalTransport)
        scheduler = client.transport.scheduler
        finish(scheduler, claim(scheduler), RunStatus.FAILED, error="no ink\n\nTraceback:\n  raise")
        why = cli.text("why", "1").splitlines()
        assert why[2] == "  no ink"
        assert why[3].startswith("  job 2 tries it again, it is queued, not before 20")
        assert "tail" not in cli.text("why", "1"), "it printed nothing"
        assert re.search(r"retried by +2\n", cli.text("jobs", "show", "1"))
        assert "job 2 tries it again, it is" in cli.error("jobs", "attach", "1", code=1)
        said = cli.error("jobs", "result", "1", code=3)
        assert said == "error: job 1 failed; its retry 2 is queued\n"
        assert re.search(r"  took .*, no ink\n", cli.text("jobs", "list", "--all"))
        cli.call("jobs", "change", "2", "--now")
        finish(scheduler, claim(scheduler), RunStatus.FAILED, error="no paper")
    assert "  job 2 tried it again and failed\n" in cli.text("why", "1")
    assert "all 2 attempts are used up; to try again: headway jobs retry 2" in cli.text("why", "2")
    ended = cli.call("jobs", "result", "1", code=1)
    assert (ended.stdout, ended.stderr) == (
        "",
        "job 1 has no result, it is failed after 2 attempts: no paper\n",
    )


def test_the_graph_is_drawn(cli: Cli) -> None:
    assert cli.text("jobs", "schedule") == "Outcome: No scheduled jobs\n"
    empty = cli.text("jobs", "schedule", "--format", "json")
    assert json.loads(empty) == {"nodes": [], "edges": []}
    cli.call("submit", "story")
    cli.call("submit", "story", "--after", "1", "--needs", "file:cover.png")
    cli.call("submit", "story", "--produces", "file:cover.png")
    drawn = cli.text("jobs", "schedule").splitlines()
    assert drawn[0] == "Schedule (DAG)"
    assert drawn[1].startswith("2 waiting_on_deps [story] [wait: ")
    assert drawn[2].startswith(("|-- after:success -> 1", "|-- file:cover.png -> 3"))
    assert drawn[3].startswith("`-- ")
    assert not UUID.search("\n".join(drawn))
    around = cli.json("jobs", "schedule", "--job", "1", "--max-depth", "1")
    assert {node["number"] for node in around["nodes"]} == {1, 2}


def test_around_one_job_both_what_it_waits_for_and_what_waits_for_it_are_drawn(cli: Cli) -> None:
    cli.call("submit", "first")
    cli.call("submit", "second", "--after", "1")
    cli.call("submit", "third", "--after", "2")
    drawn = cli.text("jobs", "schedule", "--job", "2", "--max-depth", "1").splitlines()
    assert [line.split(" [")[0] for line in drawn[1:]] == [
        "3 waiting_on_deps",
        "`-- after:success -> 2 waiting_on_deps",
        "    `-- after:success -> 1 queued",
    ]
    assert "waited on  dependencies" in cli.text("jobs", "show", "2")


def test_jobs_beyond_the_picture_are_named_by_their_numbers_too(cli: Cli) -> None:
    cli.call("submit", "story")
    for number in ("1", "2", "3"):
        cli.call("submit", "story", "--after", number)
    drawn = cli.text("jobs", "schedule", "--job", "4", "--max-depth", "2").splitlines()
    assert drawn[-1].endswith("-> 2 waiting_on_deps [story] [wait: waiting on job 1]")


def test_jobs_are_moved_approved_and_rejected(cli: Cli) -> None:
    for _ in range(3):
        cli.call("submit", "story", "--approval")
    assert cli.text("jobs", "move", "3", "--before", "1") == "Job 3 moved, place 1\n"
    assert cli.json("jobs", "move", "1", "--to", "3")["queue_position"] == 3
    assert cli.text("jobs", "reorder", "2", "1", "3") == "New order: 2, 1, 3\n"
    assert cli.json("jobs", "show", "2")["queue_position"] == 1
    cli.call("jobs", "approve", "3", "--reason", "fine")
    assert cli.json("jobs", "show", "3")["approval"] == "APPROVED"
    assert "not on a Friday" in cli.text("jobs", "reject", "2", "--reason", "not on a Friday")
    assert "rewound" not in cli.text("jobs", "show", "2")
    assert cli.json("jobs", "retry", "2")["reset"] != []
    assert "1 times" in cli.text("jobs", "show", "2")


def test_several_jobs_are_approved_rejected_cancelled_and_retried_at_once(cli: Cli) -> None:
    for _ in range(4):
        cli.call("submit", "story", "--approval")
    assert len(cli.text("jobs", "approve", "1", "2").splitlines()) == 2
    assert cli.text("jobs", "cancel", "1", "2") == "Job 1 cancelled\nJob 2 cancelled\n"
    told = cli.call("jobs", "reject", "1", "3", "9", code=4)
    person = local_principal().name
    assert told.stdout == f"Job 3 blocked_by_approval: rejected by {person}\n", (
        "one that is refused keeps none back"
    )
    assert "job 1 is not awaiting approval" in told.stderr
    assert "there is no job 9" in told.stderr
    items = cli.json("jobs", "retry", "1", "3")["items"]
    assert [len(one["reset"]) for one in items] == [1, 1]
    assert cli.json("jobs", "cancel", "4")["status"] == "CANCELLED", "of one job the answer is it"


def test_a_waiting_job_can_be_changed(cli: Cli) -> None:
    cli.call("submit", "story", "genre=horror", "--delay", "1h")
    cli.call("jobs", "change", "1", "genre=crime", "--priority", "urgent", "--now")
    job = cli.json("jobs", "show", "1")
    assert (job["params"], job["priority"], job["scheduled_for"]) == ({"genre": "crime"}, 20, None)
    cli.call("jobs", "change", "1", "--at", "2999-01-31T18:30Z")
    assert cli.json("jobs", "show", "1")["scheduled_for"] == "2999-01-31T18:30:00Z"
    cli.error("jobs", "change", "1", code=2)


def test_why_follows_the_chain_to_what_has_to_be_done(cli: Cli) -> None:
    cli.call("submit", "command", "--approval", "--", "make")
    cli.call("submit", "command", "--after", "1", "--", "make", "test")
    cli.call("submit", "command", "--after", "2", "--", "make", "deploy")
    told = cli.text("why", "3")
    lines = told.splitlines()
    assert lines[0].startswith("Job 3 is waiting_on_deps")
    gates = [line.split()[1] for line in lines if line.startswith(("  ✓", "  ✗", "  ·"))]
    assert gates == [
        *("time", "after", "artifacts", "pinned", "approval"),
        *("locks", "limits", "pause", "worker"),
    ]
    job_2 = next(line for line in lines if "└ job 2" in line)
    job_1 = next(line for line in lines if "└ job 1" in line)
    assert len(job_1) - len(job_1.lstrip()) > len(job_2) - len(job_2.lstrip())
    assert "headway jobs approve 1" in told
    assert not UUID.search(told)
    answer = cli.json("why", "3")
    assert (len(answer["gates"]), answer["status"]) == (9, "WAITING_ON_DEPS")


def test_why_begins_with_the_first_job_however_long_the_way(cli: Cli) -> None:
    cli.call("submit", "story", "--approval")
    steps = [
        {"job_type": "story", "ref": str(n), "after": [f"ref:{n - 1}" if n > 2 else 1]}
        for n in range(2, 31)
    ]
    (cli.folder / "flow.json").write_text(json.dumps({"jobs": steps}))
    cli.call("submit", "--file", "flow.json")
    assert "Ultimately, it waits for job 1.\n" in cli.text("why", "30")
    cli.call("jobs", "reject", "1", "--reason", "no")
    assert "The root cause is job 1, which is blocked_by_approval." in cli.text("why", "30")


def test_why_names_no_root_cause_where_it_did_not_look_that_far(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why, "FARTHEST", 10)
    cli.call("submit", "story", "--approval")
    for n in range(2, 13):
        cli.call("submit", "story", "--after", str(n - 1))
    cli.call("jobs", "reject", "1", "--reason", "no")
    told = cli.text("why", "12")
    assert "root cause" not in told
    assert "Job 11 was blocked before it. To see by what:\n    headway why 11\n" in told
    assert "The root cause is job 1, which is blocked_by_approval." in cli.text("why", "8")


def test_why_names_a_circle_and_how_to_break_it(cli: Cli) -> None:
    cli.call("submit", "story", "--needs", "custom:a:b", "--missing-producer", "wait")
    cli.call("submit", "story", "--produces", "custom:a:b", "--after", "1")
    told = cli.text("why", "1")
    assert told.count("circle  jobs 1 -> 2 -> 1 wait for each other") == 1
    assert "headway jobs cancel 1" in told
    assert not UUID.search(told)
    assert "circle  jobs 2 -> 1 -> 2 wait for each other" in cli.text("why", "2")


def test_why_of_a_job_that_can_never_start_says_what_would_help(cli: Cli) -> None:
    cli.call("submit", "story", "--needs", "file:data.csv")
    assert "Once file:data.csv is there:\n    headway jobs retry 1" in cli.text("why", "1")
    cli.call("run", "--produces", "file:made", "--", "true")
    cli.call("submit", "story", "--needs", "file:made")
    assert "headway jobs retry 2 --force" in cli.text("why", "3")
    assert "use --force to run it again" in cli.error("jobs", "retry", "2", code=4)


def test_a_job_that_can_never_start_is_named_at_once_and_first_of_all(cli: Cli) -> None:
    cli.call("limits", "set", "gpu", "2")
    said = cli.call("submit", "command", "--limit", "gpu=3", "--", "true")
    assert said.stdout == "Job 1 queued\n"
    hint = "as things are now, nothing could ever start it; headway why 1 tells more\n"
    assert said.stderr == hint
    why = cli.text("why", "1")
    assert "nothing could ever start it.\nTo make room:" in why
    assert "It goes on when there is room" not in why


def test_without_a_server_a_submit_says_what_the_job_waits_for(cli: Cli) -> None:
    assert cli.call("submit", "story").stderr == "it starts when a server or a worker runs\n"


def test_a_job_that_a_worker_can_start_is_submitted_without_a_note(served: Cli) -> None:
    assert served.call("submit", "story", "genre=noir").stderr == ""
    assert "could ever start it" in served.call("submit", "comedy").stderr


def test_a_job_that_waits_for_its_time_alone_starts_by_itself(served: Cli) -> None:
    job = served.json("submit", "story", "genre=noir", "--delay", "1h")
    assert "It starts by itself at " in served.text("why", str(job["number"]))


def test_why_says_what_to_do_about_each_gate(cli: Cli) -> None:
    cli.call("limits", "set", "type:big", "0")
    cli.call("limits", "set", "mail", "--rate", "1/min")
    steps = {
        "--delay 1h story": "; the gate worker must open, too.",
        "--delay 1h --approval story": "; the gates approval and worker must open, too.",
        "--needs file:data.csv story": "file:data.csv",
        "big": "headway limits set type:big SIZE",
        "--limit mail=2 story": "headway limits set mail --rate N/min",
        "--requires gpu story": "--capability gpu",
    }
    for words, step in steps.items():
        job = cli.json("submit", *words.split())
        assert step in cli.text("why", str(job["number"])), words
    cli.call("pause", "--queue", "slow")
    job = cli.json("submit", "story", "--queue", "slow")
    assert "headway resume --queue slow" in cli.text("why", str(job["number"]))
    cli.call("jobs", "cancel", str(job["number"]))
    assert f"headway jobs retry {job['number']}" in cli.text("why", str(job["number"]))


def test_large_params_are_listed_by_their_size_and_shown_as_a_whole(cli: Cli) -> None:
    cli.call("submit", "story", f"text={'x' * 9000}")
    assert "story (9,011 bytes of params)" in cli.text("jobs", "list")
    assert cli.json("jobs", "list")["items"][0]["omitted"] == {"params": 9011}
    assert "x" * 9000 in cli.json("jobs", "show", "1")["params"]["text"]
