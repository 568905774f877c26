"""Templates, schedules, groups, webhooks, limits, tokens."""

from tests.cli.conftest import Cli

RELEASE = """
name = "release"
on_failure = "continue"
[[jobs]]
job_type = "command"
params = {argv = ["make"]}
[[jobs]]
job_type = "command"
params = {argv = ["make", "publish"]}
"""


def test_templates_are_made_changed_and_archived(cli: Cli) -> None:
    cli.call("templates", "create", "nightly", "story", "genre=horror", "--timeout", "10m")
    assert cli.json("templates", "show", "nightly")["timeout_s"] == 600
    assert "named 'nightly'" in cli.error("templates", "create", "nightly", "story", code=4)
    cli.call("templates", "edit", "nightly", "genre=crime", "--priority", "high")
    changed = cli.json("templates", "show", "nightly")
    assert (changed["params"], changed["priority"]) == ({"genre": "crime"}, 10)
    (cli.folder / "t.toml").write_text('name = "weekly"\njob_type = "story"\nlocks = ["gpu"]')
    assert "gpu" in cli.text("templates", "create", "--file", "t.toml")
    cli.call("templates", "archive", "weekly")
    assert "weekly" not in cli.text("templates", "list")
    assert "weekly" in cli.text("templates", "list", "--all")
    assert "there is no template" in cli.error("templates", "show", "yearly", code=3)


def test_schedules_are_made_switched_and_fired(cli: Cli) -> None:
    cli.call("templates", "create", "nightly", "story")
    words = ("schedules", "create", "nightly", "length=3", "--name", "early")
    made = cli.json(*words, "--cron", "0 3 * * 1", "--timezone", "Europe/Berlin")
    assert (made["params"], made["enabled"]) == ({"length": 3}, True)
    assert "Monday" in cli.text("schedules", "next", "early", "-n", "2")
    cli.call("schedules", "disable", "early")
    assert "off" in cli.text("schedules", "list")
    assert cli.json("schedules", "enable", "early")["enabled"] is True
    assert cli.json("schedules", "trigger", "early")["params"] == {"length": 3}
    assert "every 15m" in cli.text("schedules", "create", "nightly", "--every", "15m")
    assert "cron" in cli.error("schedules", "create", "nightly", "--cron", "soon", code=2)
    cli.call("schedules", "delete", "early")
    assert "there is no schedule" in cli.error("schedules", "show", "early", code=3)


def test_a_schedule_is_edited_and_keeps_what_is_not_named(cli: Cli) -> None:
    cli.call("templates", "create", "nightly", "story")
    zone = ("--timezone", "Europe/Berlin", "--catchup", "all", "--catchup-limit", "5")
    cli.call(
        "schedules", "create", "nightly", "length=3", "--name", "early", "--cron", "@daily", *zone
    )
    words = ("--cron", "0 4 * * *", "--overlap", "skip", "--name", "late")
    edited = cli.json("schedules", "edit", "early", *words)
    assert (edited["cron"], edited["overlap"], edited["name"]) == ("0 4 * * *", "skip", "late")
    assert (edited["timezone"], edited["params"]) == ("Europe/Berlin", {"length": 3})
    assert (edited["catchup"], edited["catchup_limit"]) == ("all", 5)
    assert "every 15m" in cli.text("schedules", "edit", "late", "length=9", "--every", "15m")
    assert cli.json("schedules", "show", "late")["params"] == {"length": 9}
    assert "nothing to change" in cli.error("schedules", "edit", "late", code=2)


def test_groups_are_made_from_a_file_and_cancelled(cli: Cli) -> None:
    (cli.folder / "release.toml").write_text(RELEASE)
    made = cli.json("groups", "create", "--file", "release.toml")
    assert [one["number"] for one in made["members"]] == [1, 2]
    assert "sequential, on failure continue" in cli.text("groups", "show", made["group_id"])
    assert "release" in cli.text("groups", "list")
    turned = cli.json("groups", "reorder", made["group_id"], "2", "1")
    assert [one["number"] for one in turned["members"]] == [2, 1]
    assert cli.json("groups", "cancel", made["group_id"])["status"] == "CANCELLED"


def test_webhooks_are_added_and_removed(cli: Cli) -> None:
    made = cli.json("webhooks", "add", "http://127.0.0.1:9/x", "--event", "job.cancelled")
    assert made["secret"].startswith("whsec_")
    assert made["secret"] not in cli.text("webhooks", "list")
    cli.call("submit", "story")
    cli.call("jobs", "cancel", "1")
    (delivery,) = cli.json("webhooks", "deliveries", "--job", "1")["items"]
    assert (delivery["event"], delivery["status"]) == ("job.cancelled", "PENDING")
    assert "pending" in cli.text("webhooks", "deliveries")
    assert cli.text("webhooks", "secret").startswith("whsec_")
    cli.call("webhooks", "remove", made["webhook_id"])
    assert cli.json("webhooks", "list")["items"] == []
    gone = cli.error("webhooks", "redeliver", delivery["delivery_id"], code=4)
    assert "was removed" in gone


def test_a_server_does_not_start_with_a_limit_that_makes_no_sense(cli: Cli) -> None:
    (cli.folder / "headway.toml").write_text("[limits]\ngpu = -5\n")
    code, _, said = cli.program("serve", "--port", "0")
    assert (code, "limits: 'gpu': size: -5 is not between 0 and" in said) == (2, True), said
    assert "Traceback" not in said


def test_limits_are_set_and_removed(cli: Cli) -> None:
    cli.call("limits", "set", "resource:api", "3", "--rate", "60/min")
    limits = {one["name"]: one for one in cli.json("limits", "list")["items"]}
    assert (limits["resource:api"]["size"], limits["resource:api"]["rate"]) == (3, "60/min")
    cli.call("limits", "remove", "resource:api")
    assert "resource:api" not in cli.text("limits", "list")
    assert "rate" in cli.error("limits", "set", "x", "--rate", "often", code=2)


def test_tokens_are_shown_once_and_revoked(cli: Cli) -> None:
    made = cli.json("tokens", "create", "ci", "--role", "submit")
    listed = cli.text("tokens", "list")
    assert "ci" in listed
    assert made["token"] not in listed
    cli.call("tokens", "revoke", made["token_id"])
    assert "revoked" in cli.text("tokens", "list")
    assert "not one of" in cli.error("tokens", "create", "x", "--role", "king", code=2)


def test_a_job_is_submitted_after_a_group_by_its_name(cli: Cli) -> None:
    text = """
    {"name": "release", "jobs": [{"job_type": "a"}], "on_complete": {"job_type": "tell"}}
    """
    (cli.folder / "release.json").write_text(text)
    cli.call("groups", "create", "--file", "release.json")
    after = cli.json("submit", "b", "--after", "group:release:finished")["after_groups"]
    assert [(one["policy"], len(one["group"])) for one in after] == [("finished", 36)]
    assert "waiting on group" in cli.text("why", "2")
    assert "after:finished group release [queued]" in cli.text("jobs", "schedule")
    assert [one["number"] for one in cli.json("jobs", "list", "--group", "release")["items"]] == [1]
    assert cli.json("jobs", "cancel", "--group", "release", "--dry-run")["changed"] == 1
    cli.call("groups", "cancel", "release")
    assert "made at its end  job 3" in cli.text("groups", "show", "release")
    assert cli.json("jobs", "show", "3")["params"]["status"] == "CANCELLED"
    assert cli.json("jobs", "show", "2")["status"] == "QUEUED"
    assert "there is no group nobody" in cli.error("submit", "b", "--after", "group:nobody", code=2)
