-- name: jobs_of_runs
-- The jobs that these runs are of.
SELECT j.{jobs} FROM :run_ids[text] i CROSS JOIN runs r ON r.run_id = i.value
CROSS JOIN jobs j ON j.number = r.job_number;

-- name: close_runs
-- These runs end in the same way, once.
UPDATE runs SET status = :run_status, finished_at = :finished_at, exit_code = :exit_code, error = :error,
    result = :result, artifacts = :artifacts, lease_state = :lease_state, report_hash = :report_hash
WHERE run_id IN :run_ids[text] AND status IS NULL;

-- name: run_views
-- Everything that is shown, for some runs; of what is larger, only the size. Each look at a large value
-- reads all of it, so its size is looked up once.
WITH sizes AS MATERIALIZED (
    SELECT run_id, length(CAST(p.body AS BLOB)) AS params, length(CAST(result AS BLOB)) AS result,
        length(CAST(error AS BLOB)) AS error
    FROM runs JOIN payloads p USING (payload_id)
    WHERE :largest IS NOT NULL AND run_id IN :run_ids[text]
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
WHERE r.run_id IN :run_ids[text];
