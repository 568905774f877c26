"""Trying again."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="one-more-try",
        section=8,
        promise="`attempt < retry_policy.max_attempts` (at most 4 executions)",
        planted="there is one try more",
        file="domain/retries.py",
        text="if attempt >= policy.max_attempts or",
        instead="if attempt > policy.max_attempts or",
        caught_by=Simulation(),
    ),
    Fault(
        name="flat-delay",
        section=8,
        promise="`base_delay_s * 2^attempt`",
        planted="every delay is the same",
        file="domain/retries.py",
        text="policy.base_delay_s * 2**doubled",
        instead="policy.base_delay_s * 1",
        caught_by=NamedTest("tests/domain/test_retries.py::test_the_delay_doubles"),
    ),
    Fault(
        name="endless-delay",
        section=8,
        promise="`max_delay_s` 3600",
        planted="a delay has no end",
        file="domain/retries.py",
        text="min(policy.base_delay_s * 2**doubled, policy.max_delay_s)",
        instead="policy.base_delay_s * 2**doubled",
        caught_by=NamedTest("tests/domain/test_retries.py::test_the_delay_has_an_upper_end"),
    ),
    Fault(
        name="retry-not-made",
        section=8,
        promise="It is created in the finishing transaction",
        planted="it is decided and not created",
        file="scheduler/finish/decide.py",
        text="retries=tuple(sorted(retried, key=lambda one: one.record.order)),",
        instead="retries=(),",
        caught_by=Simulation(),
    ),
    Fault(
        name="retry-unchained",
        section=8,
        promise="`retry_of` = the failed job",
        planted="a retry begins a chain of its own",
        file="scheduler/finish/retries.py",
        text="chain=failed.chain,",
        instead="chain=allocation.number,",
        caught_by=Simulation(),
    ),
    Fault(
        name="retry-uncounted",
        section=8,
        promise="a *new* job, one attempt further",
        planted="a retry does not count as one",
        file="scheduler/finish/retries.py",
        text="attempt=failed.attempt + 1,",
        instead="attempt=failed.attempt,",
        caught_by=Simulation(),
    ),
    Fault(
        name="retry-in-front",
        section=8,
        promise="tail of its priority",
        planted="a retry has the place of the failed job",
        file="scheduler/finish/retries.py",
        text="position=allocation.position,",
        instead="position=failed.position,",
        caught_by=NamedTest(
            "tests/storage/test_verbs.py::test_a_retry_goes_to_the_tail_of_its_priority"
        ),
    ),
    Fault(
        name="retry-leaves-group",
        section=8,
        promise="same group place",
        planted="a retry is in no group",
        file="scheduler/finish/retries.py",
        text="group_id=failed.group_id,",
        instead="group_id=None,",
        caught_by=NamedTest(
            "tests/scheduler/test_groups.py::test_cancelling_a_group_cancels_a_retry_that_waits"
        ),
    ),
    Fault(
        name="retry-forgets-met",
        section=8,
        promise="same dependencies' results",
        planted="a retry judges its dependencies anew",
        file="scheduler/finish/retries.py",
        text="met=_met(tx, failed),",
        instead="",
        caught_by=NamedTest(
            "tests/scheduler/test_manual_retry.py::test_a_dependency_that_was_met_stays_met_although_the_job_is_gone"
        ),
    ),
    Fault(
        name="retry-loses-key",
        section=8,
        promise="same template, params, group place",
        planted="a retry lets another job have its unique key",
        file="scheduler/finish/retries.py",
        text="unique_key=failed.unique_key,",
        instead="",
        caught_by=NamedTest("tests/storage/test_verbs.py::test_a_unique_key_stays_with_the_retry"),
    ),
    Fault(
        name="exhausted",
        section=8,
        promise="Exhausted: `permanently_failed: true`",
        planted="the last failure looks as if it was suppressed",
        file="scheduler/finish/decide.py",
        text=(
            "return RetryState.EXHAUSTED if isinstance(decision, retries.GiveUp) else "
            "RetryState.SUPPRESSED"
        ),
        instead="return RetryState.SUPPRESSED",
        caught_by=NamedTest(
            "tests/scheduler/test_finish_decisions.py::test_a_failure_is_retried_while_its_policy_allows"
        ),
    ),
    Fault(
        name="any-run-again",
        section=8,
        promise="run must be FAILED (else 409 with the reason)",
        planted="a run that completed can be tried again",
        file="scheduler/change/retry.py",
        text='raise errors.RunNotFailed(run_id, run.status or "still going on")',
        instead="pass",
        caught_by=NamedTest(
            "tests/scheduler/test_manual_retry.py::test_a_run_that_did_not_fail_is_refused_with_the_reason"
        ),
    ),
    Fault(
        name="other-params",
        section=8,
        promise="params from the run's snapshot",
        planted="the job's present params are taken",
        file="scheduler/change/retry.py",
        text="payload_id=run.payload_id,",
        instead="",
        caught_by=NamedTest(
            "tests/scheduler/test_manual_retry.py::test_the_params_are_those_of_the_run_whatever_the_next_try_was_to_have"
        ),
    ),
    Fault(
        name="two-links",
        section=8,
        promise="a chain has one active link",
        planted="a retry by hand starts beside a running one",
        file="scheduler/change/retry.py",
        text="if last.status in states.ACTIVE - states.WAITING:",
        instead="if last.status in states.CLAIMS:",
        caught_by=Simulation(),
    ),
    Fault(
        name="rewind-running",
        section=8,
        promise="Refused if any member is running",
        planted="a running job is rewound",
        file="scheduler/change/rewind.py",
        text="    if running:\n",
        instead="    if not running and found is None:\n",
        caught_by=Simulation(),
    ),
    Fault(
        name="rewind-success",
        section=8,
        promise="refused if the root succeeded and `force` is not given",
        planted="a success is rewound without force",
        file="scheduler/change/rewind.py",
        text="if end.status is states.SUCCEEDED and not force:",
        instead="if end.status is states.SUCCEEDED and force is None:",
        caught_by=NamedTest(
            "tests/scheduler/test_rewind.py::test_a_success_is_rewound_by_force_only"
        ),
    ),
    Fault(
        name="rewind-generation",
        section=8,
        promise="Every member: generation + 1",
        planted="a rewound job keeps its generation",
        file="storage/sqlite/queries/jobs.sql",
        text="SET generation = generation + 1,",
        instead="SET generation = generation,",
        caught_by=Simulation(),
    ),
    Fault(
        name="rewind-approved",
        section=8,
        promise="approval back to pending",
        planted="an approval outlives a rewind",
        file="storage/sqlite/queries/jobs.sql",
        text="ELSE 'PENDING' END",
        instead="ELSE approval END",
        caught_by=NamedTest("tests/scheduler/test_rewind.py::test_approval_is_asked_for_again"),
    ),
    Fault(
        name="rewind-downstream",
        section=8,
        promise="root plus everything downstream through `after` and produced-artifact edges",
        planted="dependents are left out",
        file="storage/sqlite/queries/graph.sql",
        text="JOIN dependencies d ON d.chain = f.chain\n",
        instead="JOIN dependencies d ON d.chain = -f.chain\n",
        caught_by=NamedTest(
            "tests/scheduler/test_rewind.py::test_a_failed_job_and_what_it_blocked_start_afresh"
        ),
    ),
    Fault(
        name="rewind-markers",
        section=8,
        promise="custom artifact markers removed",
        planted="a marker outlives a rewind",
        file="scheduler/change/rewind.py",
        text="    markers.unmake(tx, made, [record.number for record in found.everyone])\n",
        instead="    markers.unmake(tx, made, [])\n",
        caught_by=NamedTest(
            "tests/scheduler/test_rewind.py::test_who_needs_what_was_made_is_downstream_and_markers_are_removed"
        ),
    ),
    Fault(
        name="rewind-upstream",
        section=8,
        promise="predecessors untouched; dependencies are met anew",
        planted="what a member comes after counts as met",
        file="storage/queries/graph.sql",
        text="UPDATE dependencies SET met = 0 WHERE chain IN :chains[bigint] AND met = 1",
        instead="UPDATE dependencies SET met = 1 WHERE chain IN :chains[bigint] AND met = 1",
        caught_by=Simulation(),
    ),
)
