-- name: open_runs
-- Jobs that have just been started get their runs.
INSERT INTO runs (run_id, job_number, attempt, generation, payload_id, worker_id, lease_state, ttl_ms, started_at, output_at)
SELECT run_id, number, attempt, generation, payload_id, worker_id, 'ACTIVE', :ttl_ms, started_at, :output_at
FROM jobs WHERE number IN (SELECT value FROM json_each(:numbers));

-- name: output_home
-- In which data directory the output of a run is; unknown for runs of earlier versions.
SELECT output_at FROM runs WHERE run_id = :run_id;

-- name: move_output
-- From here on the output of a run goes to another data directory, all of it.
UPDATE runs SET output_at = :data_id WHERE run_id = :run_id AND coalesce(output_at, '') <> :data_id;

-- name: jobs_of_runs
-- The jobs that these runs are of.
SELECT j.{jobs} FROM json_each(:run_ids) i CROSS JOIN runs r ON r.run_id = i.value
CROSS JOIN jobs j ON j.number = r.job_number;

-- name: close_runs
-- These runs end in the same way, once.
UPDATE runs SET status = :run_status, finished_at = :finished_at, exit_code = :exit_code, error = :error,
    result = :result, artifacts = :artifacts, lease_state = :lease_state, report_hash = :report_hash
WHERE run_id IN (SELECT value FROM json_each(:run_ids)) AND status IS NULL;

-- name: insert_ended_run
-- A run that is recorded without having run: a skip, or what recovery finds missing.
INSERT INTO runs (run_id, job_number, attempt, generation, status, payload_id, worker_id, started_at, finished_at, error)
VALUES (:run_id, :number, :attempt, :generation, :run_status, :payload_id, :worker_id, :started_at, :finished_at, :error);

-- name: run_views
-- Everything that is shown, for some runs; of what is larger, only the size. Each look at a large value
-- reads all of it, so its size is looked up once.
WITH sizes AS MATERIALIZED (
    SELECT run_id, length(CAST(p.body AS BLOB)) AS params, length(CAST(result AS BLOB)) AS result,
        length(CAST(error AS BLOB)) AS error
    FROM runs JOIN payloads p USING (payload_id)
    WHERE :largest IS NOT NULL AND run_id IN (SELECT value FROM json_each(:run_ids))
)
SELECT r.run_id, r.job_number, r.payload_id, r.attempt, r.generation, r.status, r.worker_id, r.lease_state,
    r.started_at, r.finished_at, r.exit_code, r.artifacts, j.job_id, j.template_id,
    CASE WHEN s.params > :largest THEN NULL ELSE p.body END AS params,
    CASE WHEN s.params > :largest THEN s.params END AS params_size,
    CASE WHEN s.result > :largest THEN NULL ELSE r.result END AS result,
    CASE WHEN s.result > :largest THEN s.result END AS result_size,
    CASE WHEN s.error > :largest THEN NULL ELSE r.error END AS error,
    CASE WHEN s.error > :largest THEN s.error END AS error_size
FROM runs r JOIN payloads p USING (payload_id) JOIN jobs j ON j.number = r.job_number LEFT JOIN sizes s USING (run_id)
WHERE r.run_id IN (SELECT value FROM json_each(:run_ids));

-- name: runs_of_chain
-- The runs of all links of a chain, oldest first.
SELECT run_id FROM runs WHERE job_number IN (SELECT value FROM json_each(:numbers)) ORDER BY run_id;

-- name: run_reports
-- How some runs were reported to end, to recognise the same report again.
SELECT run_id, job_number, worker_id, lease_state, status, report_hash, ttl_ms, started_at FROM runs
WHERE run_id IN (SELECT value FROM json_each(:run_ids));
