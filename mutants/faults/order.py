"""Order and dispatch."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="priority-ignored",
        section=5,
        promise="`priority DESC, position ASC, created_at ASC`",
        planted="a lane is taken by position alone",
        file="storage/queries/jobs.sql",
        text=("ORDER BY priority DESC, position, number LIMIT :count;\n\n-- name: starved_jobs"),
        instead=("ORDER BY position, number LIMIT :count;\n\n-- name: starved_jobs"),
        caught_by=Simulation(),
    ),
    Fault(
        name="lanes-in-turn",
        section=5,
        promise="exactly and deterministically",
        planted="the jobs of one lane come before those of another",
        file="scheduler/claim/lane_order.py",
        text="heapq.heappush(waiting, (order(following), lane_id))",
        instead="heapq.heappush(waiting, ((-1001, 0, 0), lane_id))",
        caught_by=Simulation(),
    ),
    Fault(
        name="tail-forgotten",
        section=5,
        promise="new jobs go to the tail",
        planted="a new job has the place of the one before it",
        file="scheduler/submit/plan.py",
        text="position=self._allocation.position + step * POSITION_GAP,",
        instead="position=-self._allocation.position,",
        caught_by=NamedTest(
            "tests/storage/test_verbs.py::test_jobs_are_claimed_by_priority_then_in_the_order_they_came"
        ),
    ),
    Fault(
        name="starved",
        section=5,
        promise=(
            "A job starved by a limit for longer than `starvation_s` reserves that "
            "limit's next free units"
        ),
        planted="nothing is reserved",
        file="scheduler/claim/pick.py",
        text="            self._reserve_for_starved()\n",
        instead="            pass\n",
        caught_by=NamedTest(
            "tests/scheduler/test_starvation.py::test_a_starved_job_gets_what_comes_free"
        ),
    ),
    Fault(
        name="start-without-run",
        section=5,
        promise=(
            "Starting a job is one transaction: status RUNNING + lease + open run, or none of it"
        ),
        planted="no run is opened",
        file="storage/queries/runs.sql",
        text=(
            "'ACTIVE', :ttl_ms, started_at, :output_at::text\n"
            "FROM jobs WHERE number IN :numbers[bigint];"
        ),
        instead=(
            "'ACTIVE', :ttl_ms, started_at, :output_at::text\n"
            "FROM jobs WHERE number IN :numbers[bigint] AND attempt > 0;"
        ),
        caught_by=Simulation(),
    ),
    Fault(
        name="start-without-lease",
        section=5,
        promise=(
            "Starting a job is one transaction: status RUNNING + lease + open run, or none of it"
        ),
        planted="no lease is granted",
        file="storage/queries/leases.sql",
        text=":deadline::bigint\nFROM jobs WHERE number IN :numbers[bigint];",
        instead=":deadline::bigint\nFROM jobs WHERE number IN :numbers[bigint] AND attempt > 0;",
        caught_by=Simulation(),
    ),
    Fault(
        name="dependents-forgotten",
        section=5,
        promise="Finishing is one transaction: … dependents re-evaluated …",
        planted="dependents are not looked at",
        file="scheduler/finish/consequences.py",
        text=(
            "waiting |= _meet(tx, wave.succeeded, states.SUCCEEDED) | _meet(tx, "
            "wave.failed, states.FAILED)"
        ),
        instead="waiting |= _meet(tx, wave.failed, states.FAILED)",
        caught_by=Simulation(),
    ),
    Fault(
        name="lock-waiters-forgotten",
        section=5,
        promise="Finishing is one transaction: … released lease and locks …",
        planted="who waits for the locks is not looked at",
        file="scheduler/admit/admit.py",
        text="freed |= lock_queues.keys_of(one for one in ended if one.gated)",
        instead="freed |= lock_queues.keys_of(one for one in ended if not one.gated)",
        caught_by=Simulation(),
    ),
    Fault(
        name="lease-stays",
        section=5,
        promise="Finishing is one transaction: … released lease …",
        planted="the lease of an ended run stays",
        file="storage/queries/leases.sql",
        text=(
            "DELETE FROM leases WHERE lease_id IN :lease_ids[text]\n"
            "AND worker_id = coalesce(:worker_id::text, worker_id)\n"
            "RETURNING"
        ),
        instead=(
            "UPDATE leases SET progress = progress WHERE lease_id IN :lease_ids[text]\n"
            "AND worker_id = coalesce(:worker_id::text, worker_id)\n"
            "RETURNING"
        ),
        caught_by=Simulation(),
    ),
)
