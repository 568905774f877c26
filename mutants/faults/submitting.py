"""Submitting."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="params-merge",
        section=3,
        promise="`params` = template params, then schedule params, then the request's",
        planted="the template's params win over the request's",
        file="domain/values/plain_json.py",
        text="whole = {**stored, **given}",
        instead="whole = {**given, **stored}",
        caught_by=NamedTest(
            "tests/scheduler/test_templates.py::test_a_job_gets_the_templates_terms_and_keeps_its_own_params"
        ),
    ),
    Fault(
        name="schedule-params",
        section=3,
        promise="`params` = template params, then schedule params",
        planted="the template's params win over the schedule's",
        file="scheduler/submit/submit.py",
        text="stored = {**(template.params if template else {}), **origin.params}",
        instead="stored = {**origin.params, **(template.params if template else {})}",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_a_fire_makes_a_job_with_the_schedules_params_over_the_templates"
        ),
    ),
    Fault(
        name="change-after-claim",
        section=3,
        promise="afterwards the change is refused (409) and nothing moves",
        planted="a claimed job can be changed",
        file="scheduler/change/waiting_jobs.py",
        text="raise errors.AlreadyClaimed(record.job_id, record.status)",
        instead="pass",
        caught_by=NamedTest(
            "tests/scheduler/test_queue_control.py::test_a_job_that_a_worker_has_taken_is_not_changed"
        ),
    ),
    Fault(
        name="key-other-body",
        section=3,
        promise="same key + different body: 409",
        planted="another request with a known key gets the first one's job",
        file="scheduler/submit/keys.py",
        text="raise errors.IdempotencyMismatch(key)",
        instead="pass",
        caught_by=NamedTest(
            "tests/http/test_bad_input.py::test_the_same_key_makes_one_job_and_another_request_is_refused"
        ),
    ),
    Fault(
        name="key-not-found",
        section=3,
        promise="same key + same body: the existing job (200)",
        planted="a key that was used before is not looked up",
        file="storage/queries/jobs.sql",
        text="WHERE idempotency_key IN :keys[text];",
        instead="WHERE idempotency_key IN :keys[text] AND finished_at IS NOT NULL;",
        caught_by=Simulation(),
    ),
    Fault(
        name="key-not-unique",
        section=3,
        promise="same key + same body: the existing job (200)",
        planted="the database lets two jobs have one idempotency key",
        file="storage/sqlite/migrations/0001_first_tables.sql",
        text="CREATE UNIQUE INDEX one_job_per_idempotency_key",
        instead="CREATE INDEX one_job_per_idempotency_key",
        caught_by=NamedTest(
            "tests/storage/test_uniqueness.py::test_the_database_itself_refuses_a_second_one"
        ),
    ),
    Fault(
        name="unique-after-end",
        section=3,
        promise="`unique_key`: at most one active job per key",
        planted="a job that has ended still holds its key",
        file="storage/sqlite/queries/jobs.sql",
        text="WHERE unique_key IN :keys[text] AND finished_at IS NULL;",
        instead="WHERE unique_key IN :keys[text];",
        caught_by=NamedTest(
            "tests/storage/test_verbs.py::test_a_unique_key_belongs_to_one_active_job"
        ),
    ),
    Fault(
        name="unique-twice",
        section=3,
        promise="`unique_key`: at most one active job per key",
        planted="the database lets two active jobs have one key",
        file="storage/sqlite/migrations/0001_first_tables.sql",
        text="CREATE UNIQUE INDEX one_active_job_per_unique_key",
        instead="CREATE INDEX one_active_job_per_unique_key",
        caught_by=NamedTest(
            "tests/storage/test_uniqueness.py::test_the_database_itself_refuses_a_second_one"
        ),
    ),
    Fault(
        name="dedup-window",
        section=3,
        promise="when a job with that key succeeded inside the window, the run is SKIPPED",
        planted="the window lies in the time to come",
        file="scheduler/claim/duplicates.py",
        text="since = tx.now_ms - int(",
        instead="since = tx.now_ms + int(",
        caught_by=NamedTest(
            "tests/scheduler/test_rewind.py::test_another_job_that_succeeded_inside_the_window_still_counts"
        ),
    ),
    Fault(
        name="dedup-failures",
        section=3,
        promise="when a job with that key succeeded inside the window",
        planted="a failure counts as work that was done",
        file="storage/queries/jobs.sql",
        text="AND status = 'SUCCEEDED' AND finished_at >= :since",
        instead="AND finished_at >= :since",
        caught_by=NamedTest(
            "tests/scheduler/test_dedup.py::test_a_failure_inside_the_window_does_not_count"
        ),
    ),
    Fault(
        name="cycles",
        section=3,
        promise=(
            "Cycles are refused with the offending path (`a -> b -> a`), and nothing is stored"
        ),
        planted="a cycle in a batch is stored",
        file="scheduler/submit/references.py",
        text="if cycle := graph.find_cycle(edges):",
        instead="if cycle := graph.find_cycle({}):",
        caught_by=NamedTest(
            "tests/scheduler/test_dependencies.py::test_a_circle_in_a_batch_is_refused_and_named"
        ),
    ),
    Fault(
        name="duplicated-after",
        section=3,
        promise="Duplicated `after` ids collapse",
        planted="an id that is named twice counts twice",
        file="scheduler/submit/references.py",
        text="named.setdefault((number, policy), After(",
        instead="named.setdefault((number, policy, object()), After(",
        caught_by=NamedTest(
            "tests/scheduler/test_dependencies.py::test_duplicated_dependencies_collapse"
        ),
    ),
    Fault(
        name="handler-schema",
        section=3,
        promise=(
            "params that do not fit a known handler are refused at submit (422, naming the field)"
        ),
        planted="params are not compared with the handler's signature",
        file="scheduler/submit/params.py",
        text="handler.check(params)",
        instead="pass",
        caught_by=NamedTest(
            "tests/scheduler/test_batches.py::test_the_job_of_a_batch_that_is_wrong_is_named"
        ),
    ),
    Fault(
        name="half-a-batch",
        section=3,
        promise="many jobs, all or nothing",
        planted="work that failed is not undone before others commit",
        file="storage/sqlite/connection.py",
        text='self._raw.execute("ROLLBACK TO work")',
        instead="pass",
        caught_by=NamedTest(
            "tests/storage/test_transactions.py::test_a_piece_of_work_that_fails_is_undone_alone"
        ),
    ),
    Fault(
        name="not-synced",
        section=3,
        promise="Acknowledged means on disk",
        planted="SQLite syncs at checkpoints alone",
        file="storage/sqlite/files.py",
        text="'FULL' if durable",
        instead="'NORMAL' if durable",
        caught_by=NamedTest(
            "tests/storage/test_durability.py::test_the_log_is_synced_before_each_acknowledgement"
        ),
    ),
    Fault(
        name="not-flushed",
        section=3,
        promise="Acknowledged means on disk",
        planted="PostgreSQL may commit without waiting for its disk",
        file="storage/postgres/session.py",
        text="SELECT set_config('synchronous_commit', 'on', false)",
        instead="SELECT set_config('synchronous_commit', 'off', false)",
        caught_by=NamedTest(
            "tests/storage/test_postgres_durability.py::test_commits_wait_for_the_disk_whatever_the_default_is",
            postgres=True,
        ),
    ),
    Fault(
        name="early-answer",
        section=3,
        promise="Acknowledged means on disk",
        planted="a caller is answered before the commit",
        file="storage/engine/writer.py",
        text="            self._session.commit(wakes)\n        except",
        instead=(
            "            self._answer(batch, answers, tries)\n            "
            "self._session.commit(wakes)\n            answers = dict.fromkeys(answers, "
            "RefusedTogether())\n            batch = []\n        except"
        ),
        caught_by=NamedTest(
            "tests/storage/test_transactions.py::test_a_caller_is_answered_only_when_others_can_see_the_work"
        ),
    ),
    Fault(
        name="archived-template",
        section=3,
        promise="An archived template makes no jobs",
        planted="an archived template makes jobs",
        file="scheduler/submit/known_templates.py",
        text="raise errors.TemplateArchived(template.name)",
        instead="pass",
        caught_by=NamedTest(
            "tests/scheduler/test_templates.py::test_an_archived_template_stays_readable_and_makes_no_jobs"
        ),
    ),
)
