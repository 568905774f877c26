"""What the command line says is so."""

import contextlib
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.helpers import claim

from headway import local_wiring, settings
from headway.domain import graph_text
from headway.domain.answers import Graph, Node
from headway.operations.local import LocalTransport


def test_a_schedule_of_an_archived_template_is_said_to_make_no_jobs(cli: Cli) -> None:
    cli.call("templates", "create", "nightly", "story")
    cli.call("schedules", "create", "nightly", "--cron", "0 3 * * *", "--name", "night")
    assert "schedules    every schedule that is on has a template" in cli.text("doctor")
    said = cli.call("templates", "archive", "nightly")
    assert said.stdout == "Archived template nightly\n"
    assert "schedule night makes no more jobs; to remove it: headway schedules" in said.stderr
    shown = cli.text("schedules", "show", "night")
    assert "\nstate         archived\nnext          never: its template is archived\n" in shown
    listed = cli.text("schedules", "list").splitlines()[1]
    assert "  archived  " in listed
    assert listed.endswith("never: its template is archived")
    assert "on, but their templates are archived: night" in cli.text("doctor", code=1)
    cli.call("schedules", "delete", "night")
    cli.call("doctor")


def test_a_group_is_found_by_its_name(cli: Cli) -> None:
    Path("release.json").write_text('{"name": "release", "jobs": [{"job_type": "story"}]}')
    first = cli.json("groups", "create", "--file", "release.json")["group_id"]
    newest = cli.json("groups", "create", "--file", "release.json")["group_id"]
    assert cli.json("groups", "show", "release")["group_id"] == newest
    assert cli.json("groups", "show", first)["group_id"] == first
    assert cli.json("groups", "cancel", "release")["group_id"] == newest
    assert cli.json("groups", "show", first)["status"] == "QUEUED"
    assert "nightly" in cli.error("groups", "show", "nightly", code=3)


def test_a_job_that_never_ran_has_no_exit_code(cli: Cli) -> None:
    cli.call("submit", "story")
    cli.call("jobs", "cancel", "1")
    job = cli.json("jobs", "status", "1")
    assert (job["number"], job["status"], job["exit_code"]) == (1, "CANCELLED", None)
    assert "exit" not in cli.text("jobs", "list", "--all") + cli.text("jobs", "show", "1")
    cli.program("run", "--", "sh", "-c", "exit 3")
    assert cli.json("jobs", "status", "2")["exit_code"] == 3


def test_a_list_without_a_server_says_what_does_not_go_on(cli: Cli) -> None:
    cli.call("submit", "story")
    waiting = "no server and no worker is running; jobs start when one does: headway serve\n"
    assert cli.call("jobs", "list").stderr == waiting
    assert cli.call("jobs", "list", "--json").stderr == ""
    with contextlib.closing(local_wiring.local_client(settings.load())) as client:
        assert isinstance(client.transport, LocalTransport)
        claim(client.transport.scheduler)
    said = cli.call("jobs", "list")
    assert "running" in said.stdout
    assert said.stderr == waiting


def test_a_list_names_the_jobs_whose_server_is_gone(cli: Cli) -> None:
    (cli.folder / "shop.py").write_text(
        "import headway, threading\napp = headway.App()\n"
        "@app.job\ndef wait(): print('on', flush=True); threading.Event().wait()\n"
    )
    with cli.start("serve", "--port", "0", "--app", "shop:app", "--json") as server:
        assert server.stdout is not None
        server.stdout.readline()
        cli.call("submit", "wait")
        with cli.start("jobs", "tail", "1", "--follow") as tail:
            assert tail.stdout is not None
            tail.stdout.readline()
        server.kill()
    said = cli.call("jobs", "list")
    assert "running" in said.stdout
    assert said.stderr.startswith("job 1 does not go on: the server that ran it is gone; start it")


def test_a_unique_key_says_what_it_found(cli: Cli) -> None:
    cli.call("submit", "story", "genre=horror", "--unique-key", "one")
    same = ("submit", "story", "genre=horror", "--unique-key", "one")
    other = ("submit", "story", "genre=comedy", "--unique-key", "one")
    assert cli.text(*same).endswith(" (already submitted)\n")
    assert cli.text(*other).endswith(" (already submitted, with other params)\n")
    assert cli.json(*same)["params_differ"] is False
    found = cli.json(*other)
    assert (found["deduplicated"], found["params_differ"]) == (True, True)
    assert found["params"] == {"genre": "horror"}
    assert "params_differ" not in cli.json("jobs", "show", "1")


def test_a_retry_that_was_cancelled_is_told_as_one_that_was(cli: Cli) -> None:
    cli.call("submit", "command", "--retries", "1", "--", "false")
    with cli.start("serve", "--port", "0", "--json") as server:
        assert server.stdout is not None
        server.stdout.readline()
        cli.program("jobs", "attach", "1")
        cli.call("jobs", "cancel", "2")
        assert "  job 2 tried it again and was cancelled\n" in cli.text("why", "1")


@pytest.mark.parametrize("width", [40, 80])
def test_a_drawing_fits_the_screen(width: int) -> None:
    wait = "waiting on job 1, which waits for many other things and takes long"
    nodes = [
        Node(id=str(n), number=n, status="waiting_on_deps", command="make all", wait=wait)
        for n in (1, 2)
    ]
    drawing = graph_text.render(Graph(nodes=tuple(nodes), edges=()))
    lines = graph_text.fitted(drawing, width).split("\n")
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()) == " ".join(drawing.split())
    assert graph_text.fitted(drawing, None) == drawing
    below = graph_text.fitted("|   `-- after:success -> 7 queued [make] [wait: long]", 40)
    assert below.split("\n")[1].startswith("|           [")
