-- name: open_runs
-- Jobs that have just been started get their runs.
INSERT INTO runs (run_id, job_number, attempt, generation, payload_id, worker_id, lease_state, ttl_ms, started_at, output_at)
SELECT run_id, number, attempt, generation, payload_id, worker_id, 'ACTIVE', :ttl_ms, started_at, CAST(:output_at AS text)
FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[]));

-- name: output_home
-- In which data directory the output of a run is; unknown for runs of earlier versions.
SELECT output_at FROM runs WHERE run_id = :run_id;

-- name: move_output
-- From here on the output of a run goes to another data directory, all of it.
UPDATE runs SET output_at = :data_id WHERE run_id = :run_id AND coalesce(output_at, '') <> :data_id;

-- name: jobs_of_runs
-- The jobs that these runs are of. With a join, PostgreSQL may read every run.
SELECT {jobs} FROM jobs WHERE number = ANY (ARRAY (
    SELECT job_number FROM runs WHERE run_id = ANY (CAST(:run_ids AS text[]))));

-- name: close_runs
-- These runs end in the same way, once. With a join to what is given, PostgreSQL may read every run.
UPDATE runs SET status = :run_status, finished_at = :finished_at, exit_code = :exit_code, error = :error,
    result = :result, artifacts = :artifacts, lease_state = :lease_state, report_hash = :report_hash
WHERE run_id = ANY (CAST(:run_ids AS text[])) AND finished_at IS NULL;

-- name: insert_ended_run
-- A run that is recorded without having run: a skip, or what recovery finds missing.
INSERT INTO runs (run_id, job_number, attempt, generation, status, payload_id, worker_id, started_at, finished_at, error)
VALUES (:run_id, :number, :attempt, :generation, :run_status, :payload_id, :worker_id, :started_at, :finished_at, :error);

-- name: run_views
-- Everything that is shown, for some runs; of what is larger, only the size.
SELECT r.run_id, r.job_number, r.payload_id, r.attempt, r.generation, r.status, r.worker_id, r.lease_state,
    r.started_at, r.finished_at, r.exit_code, r.artifacts, j.job_id, j.template_id,
    CASE WHEN octet_length(p.body) > CAST(:largest AS bigint) THEN NULL ELSE p.body END AS params,
    CASE WHEN octet_length(p.body) > CAST(:largest AS bigint) THEN octet_length(p.body) END AS params_size,
    CASE WHEN octet_length(r.result) > CAST(:largest AS bigint) THEN NULL ELSE r.result END AS result,
    CASE WHEN octet_length(r.result) > CAST(:largest AS bigint) THEN octet_length(r.result) END AS result_size,
    CASE WHEN octet_length(r.error) > CAST(:largest AS bigint) THEN NULL ELSE r.error END AS error,
    CASE WHEN octet_length(r.error) > CAST(:largest AS bigint) THEN octet_length(r.error) END AS error_size
FROM runs r JOIN payloads p USING (payload_id) JOIN jobs j ON j.number = r.job_number
WHERE r.run_id = ANY (CAST(:run_ids AS text[]));

-- name: runs_of_chain
-- The runs of all links of a chain, oldest first.
SELECT run_id FROM runs WHERE job_number = ANY (CAST(:numbers AS bigint[])) ORDER BY run_id;

-- name: run_reports
-- How some runs were reported to end, to recognise the same report again.
SELECT run_id, job_number, worker_id, lease_state, status, report_hash, ttl_ms, started_at FROM runs
WHERE run_id = ANY (CAST(:run_ids AS text[]));
