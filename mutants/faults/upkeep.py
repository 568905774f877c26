"""Many jobs at once, and what goes by itself."""

from mutants.fault import Fault, NamedTest

FAULTS = (
    Fault(
        name="bulk-approves-commands",
        section=29,
        promise="One rule for commands, by whatever verb (…, approve, bulk)",
        planted="below admin, commands are approved in bulk",
        file="scheduler/change/many.py",
        text='    command_permission.check_jobs(asked.tx, asked.by.role, "approve", [record])\n',
        instead="",
        caught_by=NamedTest(
            "tests/scheduler/test_many_at_once.py"
            "::test_below_admin_commands_are_refused_in_bulk_too"
        ),
    ),
    Fault(
        name="two-janitors",
        section=24,
        promise="Retention runs what `gc` does, beside the work",
        planted="each server removes what is old, whoever is at it",
        file="scheduler/upkeep/janitor.py",
        text="if is_held and tx.now_ms < known.held_until <= tx.now_ms + HELD_S * 1000:",
        instead="if is_held and tx.now_ms < known.held_until < 0:",
        caught_by=NamedTest(
            "tests/scheduler/test_janitor.py"
            "::test_one_server_at_a_time_removes_and_the_work_of_a_dead_one_goes_on"
        ),
    ),
)
