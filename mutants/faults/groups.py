"""Groups."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="not-sequential",
        section=9,
        promise="Sequential: member i starts after i-1's chain ended",
        planted="all members may start at once",
        file="scheduler/submit/references.py",
        text="if sequential and previous is not None:",
        instead="if sequential and previous is None and named:",
        caught_by=Simulation(),
    ),
    Fault(
        name="stop-continues",
        section=9,
        promise="stop (default): the rest CANCELLED, reason `predecessor failed`, no run",
        planted="the rest runs",
        file="domain/manage/groups.py",
        text="OnFailure.STOP: Verdict.STOP,",
        instead="OnFailure.STOP: Verdict.CONTINUE,",
        caught_by=NamedTest(
            "tests/scheduler/test_groups.py::test_a_final_failure_means_what_the_groups_maker_said"
        ),
    ),
    Fault(
        name="continue-stops",
        section=9,
        promise="continue: they run",
        planted="the rest is cancelled",
        file="domain/manage/groups.py",
        text="OnFailure.CONTINUE: Verdict.CONTINUE,",
        instead="OnFailure.CONTINUE: Verdict.STOP,",
        caught_by=NamedTest(
            "tests/scheduler/test_groups.py::test_a_final_failure_means_what_the_groups_maker_said"
        ),
    ),
    Fault(
        name="skip-without-run",
        section=9,
        promise="skip: SKIPPED with a SKIPPED run",
        planted="no run is recorded",
        file="scheduler/finish/group_consequences.py",
        text="    runs.insert_skipped(tx, skipped, PREDECESSOR_FAILED)\n",
        instead="",
        caught_by=Simulation(),
    ),
    Fault(
        name="too-early-partial",
        section=9,
        promise="terminal only when every member is",
        planted="a group with an active member counts as ended",
        file="domain/manage/groups.py",
        text="if present & states.ACTIVE:",
        instead="if present <= states.ACTIVE:",
        caught_by=NamedTest(
            "tests/domain/test_groups.py::test_a_group_has_ended_only_when_every_member_has"
        ),
    ),
    Fault(
        name="first-failure-counts",
        section=9,
        promise="a failure whose retry succeeded is a success",
        planted="a member is judged by its first job",
        file="storage/chains.py",
        text="return {link.chain: link for link in _links(tx, chains)}",
        instead="return {link.chain: link for link in reversed([*_links(tx, chains)])}",
        caught_by=NamedTest(
            "tests/scheduler/test_groups.py::test_a_member_that_succeeds_at_its_second_try_is_a_success"
        ),
    ),
    Fault(
        name="partial",
        section=9,
        promise="some failed: PARTIAL",
        planted="one cancelled member makes a cancelled group",
        file="domain/manage/groups.py",
        text=(
            "return GroupStatus.CANCELLED if present == {states.CANCELLED} else GroupStatus.PARTIAL"
        ),
        instead=(
            "return GroupStatus.CANCELLED if states.CANCELLED in present else GroupStatus.PARTIAL"
        ),
        caught_by=NamedTest(
            "tests/scheduler/test_groups.py::test_a_final_failure_means_what_the_groups_maker_said"
        ),
    ),
    Fault(
        name="cancelled-fails",
        section=9,
        promise="on a member's final failure",
        planted="a cancelled member stops its group",
        file="scheduler/finish/group_consequences.py",
        text="return one.status in states.FAILURE and one.status is not states.CANCELLED",
        instead="return one.status in states.FAILURE",
        caught_by=NamedTest(
            "tests/scheduler/test_groups.py::test_who_follows_a_cancelled_member_waits_for_the_one_before_it"
        ),
    ),
    Fault(
        name="group-left-open",
        section=9,
        promise="Group status is derived",
        planted="a complete group is never marked as ended",
        file="scheduler/finish/group_consequences.py",
        text="        if not others:\n",
        instead="        if others:\n",
        caught_by=Simulation(),
    ),
    Fault(
        name="told-twice",
        section=24,
        promise="`on_complete=` is a job made when the group ends",
        planted="a group that ends again makes another job",
        file="storage/manage/groups.py",
        text='row["on_complete"] if row["on_complete_job"] is None else None',
        instead='row["on_complete"]',
        caught_by=NamedTest(
            "tests/scheduler/test_group_completions.py"
            "::test_it_is_made_once_however_often_the_group_ends"
        ),
    ),
    Fault(
        name="any-end-of-a-group",
        section=24,
        promise="`after` may name a group",
        planted="success of a group means that it has ended",
        file="domain/gates/after.py",
        text="return (status is GroupStatus.COMPLETED) is (policy is Policy.SUCCESS)",
        instead="return policy is Policy.SUCCESS or status is not GroupStatus.COMPLETED",
        caught_by=NamedTest(
            "tests/scheduler/test_after_groups.py"
            "::test_the_policy_says_which_end_of_the_group_is_wanted"
        ),
    ),
)
