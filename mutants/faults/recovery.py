"""Starting again after a crash."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="dead-not-found",
        section=13,
        promise=(
            "RUNNING jobs leased by a built-in worker whose process is gone: open run → FAILED"
        ),
        planted="what a dead server ran waits for its lease",
        file="scheduler/upkeep/recovery.py",
        text="return [one.worker_id for one in workers.built_in(tx) if not is_alive(one)]",
        instead="return [one.worker_id for one in workers.built_in(tx) if one is None]",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_everything_that_a_dead_worker_ran_is_tried_again"
        ),
    ),
    Fault(
        name="living-buried",
        section=13,
        promise="host, pid and start time tell",
        planted="what a living server runs is failed",
        file="scheduler/upkeep/recovery.py",
        text="return [one.worker_id for one in workers.built_in(tx) if not is_alive(one)]",
        instead="return [one.worker_id for one in workers.built_in(tx)]",
        caught_by=Simulation(),
    ),
    Fault(
        name="orphans-left",
        section=13,
        promise="Orphaned child processes are ended first",
        planted="they go on beside the retry",
        file="scheduler/upkeep/recovery.py",
        text="        end_orphans([one.lease_id for one in held])\n",
        instead="        end_orphans([])\n",
        caught_by=Simulation(),
    ),
    Fault(
        name="no-run-made",
        section=13,
        promise="no run → a FAILED run is created",
        planted="a job without a run ends without one",
        file="scheduler/upkeep/recovery.py",
        text="    else:\n        runs.insert_failed(tx, record, CRASHED)\n",
        instead="",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_a_running_job_without_a_run_gets_one_that_failed"
        ),
    ),
    Fault(
        name="ended-run-fails",
        section=13,
        promise="run already terminal → only the job is finished",
        planted="the job fails although its run completed",
        file="scheduler/upkeep/recovery.py",
        text="outcome = Outcome(status=report.status)",
        instead="outcome = Outcome(status=RunStatus.FAILED)",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_a_run_that_has_ended_decides_for_its_job"
        ),
    ),
    Fault(
        name="remote-cut-off",
        section=13,
        promise=(
            "RUNNING jobs leased by remote workers keep their lease (at least one TTL "
            "after the start)"
        ),
        planted="a restart takes their time",
        file="scheduler/upkeep/recovery.py",
        text="    leases.prolong(tx, _dead_workers(is_alive, tx))\n",
        instead="",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_restart_gives_time_to_come_back_but_none_past_the_time_out"
        ),
    ),
    Fault(
        name="remote-past-time-out",
        section=13,
        promise="keep their lease until `expires_at`",
        planted="a restart gives time past the time-out",
        file="storage/queries/leases.sql",
        text="least(:now + ttl_ms, coalesce(deadline, :now + ttl_ms)))\nWHERE",
        instead="least(:now + ttl_ms, :now + ttl_ms))\nWHERE",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_restart_gives_time_to_come_back_but_none_past_the_time_out"
        ),
    ),
    Fault(
        name="hold-of-the-dead",
        section=13,
        promise="ACTIVE reservations → EXPIRED",
        planted="the hold of a dead server stays",
        file="storage/queries/reservations.sql",
        text="AND (server IS NULL OR server NOT IN :servers[text]);",
        instead="AND server IS NULL AND '' NOT IN :servers[text];",
        caught_by=NamedTest(
            "tests/scheduler/test_reservations.py::test_a_hold_ends_with_the_process_of_its_server"
        ),
    ),
    Fault(
        name="retry-twice",
        section=13,
        promise="FAILED runs with `retry_state none` get their retry, once",
        planted="a second pass makes a second retry",
        file="scheduler/upkeep/recovery.py",
        text="        jobs.set_retry_state(tx, record.number, decide.retry_state(decision))\n",
        instead="",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_a_failure_whose_retry_was_never_decided_gets_it_once"
        ),
    ),
    Fault(
        name="retry-missing",
        section=13,
        promise="FAILED runs with `retry_state none` get their retry",
        planted="they get none",
        file="scheduler/upkeep/recovery.py",
        text="        if isinstance(decision, retries.RetryAt):\n",
        instead="        if isinstance(decision, retries.GiveUp):\n",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_a_failure_whose_retry_was_never_decided_gets_it_once"
        ),
    ),
    Fault(
        name="groups-not-derived",
        section=13,
        promise="Groups and dependents are re-derived",
        planted="a group whose members have ended stays open",
        file="scheduler/upkeep/recovery.py",
        text="report.groups_recovered = scheduler.store.write(partial(_end_groups, scheduler))",
        instead="report.groups_recovered = 0",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_a_group_whose_members_have_ended_is_marked"
        ),
    ),
    Fault(
        name="one-stops-all",
        section=13,
        promise="the pass reports counts (… `errors`)",
        planted="one job's trouble stops the pass",
        file="scheduler/upkeep/recovery.py",
        text="        if len(numbers) == 1:\n",
        instead="        if len(numbers) == 1:\n            raise\n",
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_one_job_that_cannot_be_recovered_is_counted_and_stops_no_other"
        ),
    ),
    Fault(
        name="order-lost",
        section=13,
        promise="queue order is untouched",
        planted="retries come in the order in which the workers died",
        file="scheduler/finish/decide.py",
        text="retries=tuple(sorted(retried, key=lambda one: one.record.order)),",
        instead=("retries=tuple(sorted(retried, key=lambda one: one.record.order, reverse=True)),"),
        caught_by=NamedTest(
            "tests/scheduler/test_recovery.py::test_jobs_that_started_at_once_are_tried_again_in_their_order"
        ),
    ),
)
