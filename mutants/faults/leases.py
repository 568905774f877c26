"""Workers, claims, leases."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="incapable-worker",
        section=6,
        promise="`requires` of the job must be a subset of the worker's `capabilities`",
        planted="a worker gets jobs that it cannot do",
        file="domain/workers.py",
        text="and capabilities.issuperset(lane.requires)",
        instead="and capabilities.issuperset(())",
        caught_by=Simulation(),
    ),
    Fault(
        name="costly-job",
        section=6,
        promise="`max_cost_units` of a claim",
        planted="a worker gets jobs that cost more than it takes",
        file="domain/workers.py",
        text="lane.cost_units > self.max_cost_units:",
        instead="lane.cost_units < 0:",
        caught_by=NamedTest(
            "tests/scheduler/test_why.py::test_a_job_too_large_for_every_worker_is_not_startable"
        ),
    ),
    Fault(
        name="foreign-queue",
        section=6,
        promise="a claim names its `queues`",
        planted="a worker gets jobs of other queues",
        file="domain/workers.py",
        text="(queues is None or lane.queue in queues)",
        instead="(queues is None or bool(queues))",
        caught_by=Simulation(),
    ),
    Fault(
        name="foreign-claim",
        section=6,
        promise="a claim belongs to its worker",
        planted="a worker starts what another one claimed",
        file="scheduler/lease/leases.py",
        text=(
            "    if record.worker_id != worker_id:\n        raise "
            "errors.NotClaimed(worker_id, reference)\n    return record"
        ),
        instead="    return record",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_another_worker_cannot_use_a_claim"
        ),
    ),
    Fault(
        name="claim-ttl",
        section=6,
        promise="CLAIMED until `claim_expires_at` (60 s)",
        planted="a claim lasts ten minutes",
        file="domain/leases.py",
        text="CLAIM_TTL_S = 60.0",
        instead="CLAIM_TTL_S = 600.0",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_claim_that_leads_to_nothing_goes_back_to_its_place"
        ),
    ),
    Fault(
        name="back-off-flat",
        section=6,
        promise="`retry_after_ms` grows with how often this job was denied",
        planted="it stays the same",
        file="domain/leases.py",
        text="base = min(200 * 2 ** min(denials, 7), 15_000)",
        instead="base = 200",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_denied_worker_is_told_when_to_come_back"
        ),
    ),
    Fault(
        name="denied-forgotten",
        section=6,
        promise="job LEASE_PENDING keeping its place",
        planted="a denied job is claimed as before",
        file="scheduler/lease/leases.py",
        text="status=states.LEASE_PENDING,\n        kind=kind",
        instead="status=record.status,\n        kind=kind",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_denied_worker_is_told_when_to_come_back"
        ),
    ),
    Fault(
        name="foreign-heartbeat",
        section=6,
        promise="another worker's lease: 403",
        planted="anybody can renew a lease",
        file="scheduler/lease/leases.py",
        text="if lease is None or lease.worker_id != worker_id:",
        instead="if lease is None:",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_stranger_can_neither_renew_nor_end_a_lease"
        ),
    ),
    Fault(
        name="foreign-release",
        section=6,
        promise="the lease id is the fence; another worker's 403",
        planted="a worker ends what another one runs",
        file="storage/queries/leases.sql",
        text="AND worker_id = coalesce(:worker_id::text, worker_id)\nRETURNING",
        instead="AND worker_id <> coalesce(:worker_id::text, '') || '?'\nRETURNING",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_stranger_can_neither_renew_nor_end_a_lease"
        ),
    ),
    Fault(
        name="past-time-out",
        section=6,
        promise="A heartbeat never extends past the job's `timeout_s`",
        planted="it does",
        file="domain/leases.py",
        text=("return renewed if deadline_ms is None else max(now_ms, min(renewed, deadline_ms))"),
        instead="return renewed",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_heartbeat_never_goes_past_the_time_out"
        ),
    ),
    Fault(
        name="late-heartbeat",
        section=6,
        promise="heartbeat: new `expires_at`",
        planted="a heartbeat that was held up shortens the lease",
        file="storage/sqlite/queries/leases.sql",
        text="max(expires_at, :expires_at)",
        instead=":expires_at",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_heartbeat_that_was_held_up_takes_no_time_from_a_later_one"
        ),
    ),
    Fault(
        name="cancel-untold",
        section=6,
        promise="heartbeat: `cancel_requested`",
        planted="a worker is not told of a cancel",
        file="scheduler/lease/leases.py",
        text="cancel=lease.cancel,",
        instead="cancel=None,",
        caught_by=NamedTest(
            "tests/scenarios/test_two_step.py::test_a_worker_is_told_of_a_cancel_at_its_next_heartbeat"
        ),
    ),
    Fault(
        name="late-release",
        section=6,
        promise="After expiry 409 and nothing changes",
        planted="a late release is answered as if it had counted",
        file="scheduler/finish/finish.py",
        text="elif run.lease_state is LeaseState.RELEASED and (",
        instead="elif run.lease_state is LeaseState.EXPIRED or (",
        caught_by=NamedTest(
            "tests/http/test_leases.py::test_a_release_after_the_expiry_changes_nothing"
        ),
    ),
    Fault(
        name="other-release",
        section=6,
        promise="Release is idempotent for the same body",
        planted="another body is accepted as well",
        file="scheduler/finish/finish.py",
        text="run.report_hash == report_hash(report.outcome)",
        instead="run.report_hash != report_hash(PLAIN_SUCCESS) or True",
        caught_by=NamedTest(
            "tests/http/test_leases.py::test_the_same_release_twice_is_one_and_another_is_refused"
        ),
    ),
    Fault(
        name="repeated-release",
        section=6,
        promise="Release is idempotent for the same body",
        planted="the same body again is refused",
        file="scheduler/finish/finish.py",
        text="run.report_hash == report_hash(report.outcome)",
        instead="run.report_hash != report_hash(report.outcome)",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_the_same_report_twice_gets_the_same_answer"
        ),
    ),
    Fault(
        name="never-expires",
        section=6,
        promise="Missing heartbeats: lease EXPIRED, run FAILED, job TIMEOUT",
        planted="a lease outlives its worker",
        file="storage/queries/leases.sql",
        text="WHERE expires_at <= :now ORDER BY expires_at LIMIT :count;",
        instead="WHERE expires_at <= :now - 100 * ttl_ms ORDER BY expires_at LIMIT :count;",
        caught_by=Simulation(),
    ),
    Fault(
        name="expires-early",
        section=6,
        promise="the lease id is the fence",
        planted="a lease expires while its worker still has time",
        file="storage/queries/leases.sql",
        text="WHERE expires_at <= :now ORDER BY expires_at LIMIT :count;",
        instead="WHERE expires_at <= :now + 10000 ORDER BY expires_at LIMIT :count;",
        caught_by=Simulation(),
    ),
    Fault(
        name="no-fence",
        section=6,
        promise="The worker that cannot renew in time stops its own work before `expires_at`",
        planted="it goes on",
        file="worker/lease_keeper.py",
        text="            if held.fence_at <= now:\n",
        instead="            if held.fence_at <= now - 3600:\n",
        caught_by=NamedTest(
            "tests/worker/test_worker_troubles.py::test_a_run_that_cannot_be_stopped_does_not_end_the_fence"
        ),
    ),
    Fault(
        name="late-fence",
        section=6,
        promise="stops its own work before `expires_at`",
        planted="it stops when the lease is over",
        file="worker/lease_keeper.py",
        text="return min(LONGEST_MARGIN_S, ttl_s / 3)",
        instead="return 0.0",
        caught_by=NamedTest(
            "tests/worker/test_fence.py::test_work_is_stopped_before_its_lease_is_over"
        ),
    ),
    Fault(
        name="slow-heartbeat",
        section=6,
        promise="heartbeat at a third of it",
        planted="a heartbeat is sent when the lease is nearly over",
        file="domain/leases.py",
        text="HEARTBEATS_PER_TTL = 3",
        instead="HEARTBEATS_PER_TTL = 1",
        caught_by=NamedTest(
            "tests/worker/test_fence.py::test_a_lease_is_renewed_at_a_third_of_its_time"
        ),
    ),
    Fault(
        name="default-ttl",
        section=6,
        promise="Default TTL 30 s",
        planted="a lease lasts five minutes",
        file="domain/leases.py",
        text="DEFAULT_TTL_S = 30.0",
        instead="DEFAULT_TTL_S = 300.0",
        caught_by=NamedTest(
            "tests/scheduler/test_leases.py::test_a_silent_worker_loses_its_lease_and_the_job_is_tried_again"
        ),
    ),
    Fault(
        name="lost-answer",
        section=6,
        promise="a claim whose answer was lost",
        planted="its leases are lost until they expire",
        file="scheduler/claim/claims.py",
        text="one.lease_id for one in held if one.lease_id not in holds",
        instead="one.lease_id for one in held if one.lease_id in holds",
        caught_by=NamedTest(
            "tests/scheduler/test_lost_answers.py::test_a_lease_whose_answer_was_lost_is_handed_out_again"
        ),
    ),
)
