"""The one state machine."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="running-goes-back",
        section=2,
        promise="RUNNING never goes back to QUEUED",
        planted="the table lets a running job be queued again",
        file="domain/states.py",
        text="RUNNING: frozenset({SUCCEEDED,",
        instead="RUNNING: frozenset({QUEUED, SUCCEEDED,",
        caught_by=NamedTest(
            "tests/domain/test_states.py::test_a_running_job_never_goes_back_to_the_queue"
        ),
    ),
    Fault(
        name="moves-unchecked",
        section=2,
        promise="Legal moves live in one table; everything else consults it",
        planted="no move is refused",
        file="domain/states.py",
        text="if target is not status and not allows(status, target):",
        instead="if target is status and not allows(status, target):",
        caught_by=NamedTest("tests/scheduler/test_moves.py::test_what_has_ended_is_not_started"),
    ),
    Fault(
        name="waiting-starts",
        section=2,
        promise="a job starts from QUEUED, or from its claim",
        planted="a job that waits for something may start",
        file="domain/states.py",
        text="| ({CLAIMED, RUNNING} if waiting is QUEUED else set())",
        instead="| {CLAIMED, RUNNING}",
        caught_by=NamedTest(
            "tests/domain/test_states.py::test_a_job_with_a_closed_gate_does_not_start"
        ),
    ),
    Fault(
        name="timeout-fails",
        section=2,
        promise="TIMEOUT: lease expired or `timeout_s` passed; run FAILED",
        planted="a job whose lease expired ends as FAILED",
        file="scheduler/finish/finish.py",
        text="return states.TIMEOUT",
        instead="return states.FAILED",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_silent_worker_loses_its_lease_and_the_job_is_tried_again"
        ),
    ),
    Fault(
        name="end-unlike-run",
        section=2,
        promise="SUCCEEDED: its run is COMPLETED; SKIPPED: its run is SKIPPED",
        planted="a skipped run makes a job that succeeded",
        file="scheduler/finish/finish.py",
        text="RunStatus.SKIPPED: states.SKIPPED",
        instead="RunStatus.SKIPPED: states.SUCCEEDED",
        caught_by=Simulation(),
    ),
    Fault(
        name="claim-lost",
        section=2,
        promise="A claim that expires goes back to QUEUED (nothing has run)",
        planted="an expired claim stays with its worker",
        file="scheduler/lease/expire.py",
        text="return give_back(scheduler, tx, numbers) if numbers else 0",
        instead="return 0",
        caught_by=Simulation(),
    ),
    Fault(
        name="run-ends-twice",
        section=2,
        promise="once a run's `status` is set nothing may change",
        planted="an ended run can be ended once more",
        file="storage/sqlite/queries/runs.sql",
        text="WHERE run_id IN :run_ids[text] AND status IS NULL;",
        instead="WHERE run_id IN :run_ids[text];",
        caught_by=NamedTest("tests/storage/test_ends.py::test_a_run_that_has_ended_stays_as_it_is"),
    ),
    Fault(
        name="spelling",
        section=2,
        promise="status words are accepted in any case; `CANCELED` is read as `CANCELLED`",
        planted="the American spelling is not understood",
        file="domain/states.py",
        text='"CANCELLED" if word == "CANCELED" else word',
        instead="word",
        caught_by=NamedTest("tests/domain/test_states.py::test_status_words_are_read_in_any_case"),
    ),
)
