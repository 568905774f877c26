"""`headway jobs cancel|retry|approve|reprioritise` of all jobs that options name."""

import pytest
from tests.cli.conftest import Cli


@pytest.mark.parametrize("where", ["cli", "served"])
def test_all_jobs_of_a_kind_are_cancelled_after_a_preview(
    where: str, request: pytest.FixtureRequest
) -> None:
    cli: Cli = request.getfixturevalue(where)
    for _ in range(3):
        cli.call("submit", "nothing", "--tag", "red")
    cli.call("submit", "nothing")
    assert cli.text("jobs", "cancel", "--tag", "red", "--dry-run") == "Would cancel 3 jobs\n"
    would = cli.json("jobs", "cancel", "--tag", "red", "--dry-run")
    assert (would["matched"], would["changed"], would["refused"]) == (3, 3, [])
    problem = cli.error("jobs", "cancel", "--tag", "red", code=2)
    assert "--dry-run, then give --yes" in problem
    assert len(cli.json("jobs", "list")["items"]) == 4
    said = ("jobs", "cancel", "--tag", "red", "--reason", "enough", "--yes")
    assert cli.text(*said) == "3 jobs cancelled or asked to stop\n"
    assert [one["number"] for one in cli.json("jobs", "list")["items"]] == [4]
    assert cli.json("jobs", "show", "1")["wait_reason"]["detail"] == "enough"
    assert cli.text(*said) == "No job is like that\n"


def test_what_is_refused_is_counted_by_its_code(cli: Cli) -> None:
    for _ in range(2):
        cli.call("submit", "nothing")
    cli.call("jobs", "cancel", "1")
    told = cli.text("jobs", "cancel", "--status", "active,cancelled", "--yes")
    assert told == "1 job cancelled or asked to stop; 1 left as they are (1 not_active)\n"
    assert "2 left as they are" in cli.text("jobs", "cancel", "1", "2", "--dry-run")


def test_priorities_are_changed_one_by_one_or_all_of_a_kind(cli: Cli) -> None:
    for _ in range(3):
        cli.call("submit", "nothing", "--tag", "red")
    cli.call("jobs", "reprioritise", "1", "--priority", "5")
    cli.call("jobs", "reprioritise", "--tag", "red", "--priority", "high", "--yes")
    assert [one["priority"] for one in cli.json("jobs", "list")["items"]] == [10, 10, 10]
    assert "give the new priority" in cli.error("jobs", "reprioritise", "1", code=2)


def test_jobs_are_named_one_by_one_or_by_options(cli: Cli) -> None:
    cli.call("submit", "nothing", "--approval")
    assert "name jobs by" in cli.error("jobs", "cancel", code=2)
    assert "name jobs by" in cli.error("jobs", "approve", "1", "--tag", "red", code=2)
    assert "one by one" in cli.error("jobs", "retry", "--status", "failed", "--force", code=2)
    assert "in place of jobs" in cli.error("jobs", "retry", "1", "--priority", "5", code=2)
    assert cli.text("jobs", "approve", "--type", "nothing", "--yes") == "1 job approved\n"
