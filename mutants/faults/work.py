"""Doing the work."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="skip-fails",
        section=7,
        promise='`Skip("reason")`: SKIPPED',
        planted="a skip counts as a success",
        file="worker/executors/calls.py",
        text="return Outcome(status=RunStatus.SKIPPED,",
        instead="return Outcome(status=RunStatus.COMPLETED,",
        caught_by=NamedTest(
            "tests/worker/test_executors_threads.py::test_a_skip_ends_skipped_with_its_reason"
        ),
    ),
    Fault(
        name="fail-retried",
        section=7,
        promise='`Fail("reason", retry=False)`: FAILED with no automatic retry',
        planted="it is tried again",
        file="scheduler/finish/finish.py",
        text="retry=outcome.retry,",
        instead="retry=True,",
        caught_by=Simulation(),
    ),
    Fault(
        name="traceback",
        section=7,
        promise="`error` = type, message and traceback tail",
        planted="the message alone is kept",
        file="worker/executors/calls.py",
        text="else tracebacks.describe(error)",
        instead="else str(error)",
        caught_by=NamedTest(
            "tests/worker/test_executors_threads.py::test_an_exception_is_told_with_its_traceback"
        ),
    ),
    Fault(
        name="exit-code",
        section=7,
        promise="Exit 0: COMPLETED, otherwise FAILED with that `exit_code`",
        planted="any exit code is a success",
        file="worker/executors/commands.py",
        text="if returncode == 0:",
        instead="if returncode >= 0:",
        caught_by=NamedTest(
            "tests/worker/test_executors_commands.py::test_any_other_exit_code_fails"
        ),
    ),
    Fault(
        name="no-argv",
        section=7,
        promise="A missing or empty `argv`: FAILED, exit 1, `missing child args`",
        planted="it has no exit code",
        file="worker/executors/commands.py",
        text='calls.failed("missing child args", 1)',
        instead='calls.failed("missing child args")',
        caught_by=NamedTest(
            "tests/worker/test_executors_commands.py::test_a_command_without_arguments_fails"
        ),
    ),
    Fault(
        name="child-outlives",
        section=7,
        promise="The child never outlives its lease",
        planted="the guard does not look at deadlines",
        file="worker/guard.py",
        text="        _end(_late(watched), watched)\n",
        instead="",
        caught_by=NamedTest("tests/worker/test_guard.py::test_a_group_past_its_deadline_is_ended"),
    ),
    Fault(
        name="child-outlives-worker",
        section=7,
        promise="it never outlives its lease",
        planted="the guard leaves the children of a dead worker alone",
        file="worker/guard.py",
        text=("    _end(list(watched), watched)\n\n\ndef"),
        instead=("    watched.clear()\n\n\ndef"),
        caught_by=NamedTest(
            "tests/worker/test_guard.py::test_a_killed_worker_takes_its_children_along"
        ),
    ),
    Fault(
        name="stranger-ended",
        section=7,
        promise="recovery finds the group by pid + start time",
        planted="a stranger with the same number is ended",
        file="worker/process_groups.py",
        text="    if not _is_the_group(pgid, began):\n        return True\n",
        instead="",
        caught_by=NamedTest(
            "tests/worker/test_process_groups.py::test_a_stranger_with_the_same_number_is_left_alone"
        ),
    ),
    Fault(
        name="progress-lost",
        section=7,
        promise='`ctx.progress(0.4, "outline")`; SDK, CLI and UI show it',
        planted="a heartbeat without news forgets it",
        file="storage/sqlite/queries/leases.sql",
        text="progress = coalesce(:progress, progress)",
        instead="progress = :progress",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_heartbeat_without_news_keeps_what_was_said"
        ),
    ),
    Fault(
        name="cancel-forgotten",
        section=7,
        promise="the job ends CANCELLED and is not retried",
        planted="a running job ends as its run did",
        file="scheduler/finish/finish.py",
        text="if record.cancel is not None or outcome.cancelled:",
        instead="if outcome.cancelled:",
        caught_by=Simulation(),
    ),
    Fault(
        name="cancel-ended",
        section=7,
        promise="A terminal job: 409 `job <id> is not active`",
        planted="an ended job can be cancelled",
        file="scheduler/change/cancel.py",
        text="raise errors.NotActive(record.job_id)",
        instead="return record.number",
        caught_by=NamedTest("tests/scheduler/test_cancel.py::test_what_has_ended_is_not_cancelled"),
    ),
    Fault(
        name="force-ignored",
        section=7,
        promise="`force: true`: SIGTERM to the group, SIGKILL after the grace period",
        planted="a forced cancel is a plain one",
        file="scheduler/change/cancel.py",
        text="FORCED if force else (record.cancel or ASKED)",
        instead="record.cancel or ASKED",
        caught_by=NamedTest("tests/scheduler/test_cancel.py::test_a_forced_cancel_is_told_as_one"),
    ),
    Fault(
        name="cancel-interrupts",
        section=7,
        promise="by default nothing is interrupted",
        planted="a cancelled run is stopped",
        file="worker/lease_keeper.py",
        text='return self.fenced or self.cancel == "forced"',
        instead="return self.fenced or self.cancel is not None",
        caught_by=NamedTest("tests/worker/test_fence.py::test_a_plain_cancel_interrupts_nothing"),
    ),
    Fault(
        name="forced-code",
        section=7,
        promise="exit 143",
        planted="a forced end has another exit code",
        file="worker/executors/calls.py",
        text="FORCED_EXIT_CODE = 143",
        instead="FORCED_EXIT_CODE = 1",
        caught_by=NamedTest(
            "tests/worker/test_executors_commands.py::test_a_command_stopped_by_force_has_exit_code_143"
        ),
    ),
)
