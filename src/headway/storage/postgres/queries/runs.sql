-- name: open_runs
-- Jobs that have just been started get their runs.
INSERT INTO runs (run_id, job_number, attempt, generation, payload_id, worker_id, lease_state, ttl_ms, started_at)
SELECT run_id, number, attempt, generation, payload_id, worker_id, 'ACTIVE', :ttl_ms, started_at
FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[]));

-- name: close_runs
-- These runs end in the same way, once. Found by its id: PostgreSQL would rather read all open runs for status IS NULL.
UPDATE runs SET status = r.run_status, finished_at = r.finished_at, exit_code = r.exit_code, error = r.error,
    result = r.result, artifacts = r.artifacts, lease_state = r.lease_state, report_hash = r.report_hash
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    run_ids text, run_status text, finished_at bigint, exit_code bigint, error text, result text,
    artifacts text, lease_state text, report_hash text),
    json_array_elements_text(CAST(r.run_ids AS json)) AS n
WHERE runs.run_id = n AND runs.finished_at IS NULL;

-- name: insert_ended_run
-- A run that is recorded without having run: a skip, or what recovery finds missing.
INSERT INTO runs (run_id, job_number, attempt, generation, status, payload_id, worker_id, started_at, finished_at, error)
VALUES (:run_id, :number, :attempt, :generation, :run_status, :payload_id, :worker_id, :started_at, :finished_at, :error);

-- name: run_views
-- Everything that is shown, for some runs.
SELECT r.*, p.body AS params, j.job_id, j.template_id
FROM runs r JOIN payloads p USING (payload_id) JOIN jobs j ON j.number = r.job_number
WHERE r.run_id = ANY (CAST(:run_ids AS text[]));

-- name: runs_of_job
-- A job's runs, newest first.
SELECT run_id FROM runs WHERE job_number = :number ORDER BY run_id DESC;

-- name: runs_of_chain
-- The runs of all links of a chain, oldest first.
SELECT run_id FROM runs WHERE job_number = ANY (CAST(:numbers AS bigint[])) ORDER BY run_id;

-- name: run_reports
-- How some runs were reported to end, to recognise the same report again.
SELECT run_id, job_number, worker_id, lease_state, status, report_hash, ttl_ms, started_at FROM runs
WHERE run_id = ANY (CAST(:run_ids AS text[]));

-- name: open_runs_of_jobs
-- The open runs of some jobs.
SELECT run_id, job_number, started_at FROM runs
WHERE job_number = ANY (CAST(:numbers AS bigint[])) AND status IS NULL;
