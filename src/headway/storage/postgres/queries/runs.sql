-- name: jobs_of_runs
-- The jobs that these runs are of. With a join, PostgreSQL may read every run.
SELECT {jobs} FROM jobs WHERE number = ANY (ARRAY (
    SELECT job_number FROM runs WHERE run_id IN :run_ids[text]));

-- name: close_runs
-- These runs end in the same way, once. With a join to what is given, PostgreSQL may read every run.
UPDATE runs SET status = :run_status, finished_at = :finished_at, exit_code = :exit_code, error = :error,
    result = :result, artifacts = :artifacts, lease_state = :lease_state, report_hash = :report_hash
WHERE run_id IN :run_ids[text] AND finished_at IS NULL;

-- name: run_views
-- Everything that is shown, for some runs; of what is larger, only the size.
SELECT r.run_id, r.job_number, r.payload_id, r.attempt, r.generation, r.status, r.worker_id, r.lease_state,
    r.started_at, r.finished_at, r.exit_code, r.artifacts, j.job_id, j.template_id,
    CASE WHEN octet_length(p.body) > :largest::bigint THEN NULL ELSE p.body END AS params,
    CASE WHEN octet_length(p.body) > :largest::bigint THEN octet_length(p.body) END AS params_size,
    CASE WHEN octet_length(r.result) > :largest::bigint THEN NULL ELSE r.result END AS result,
    CASE WHEN octet_length(r.result) > :largest::bigint THEN octet_length(r.result) END AS result_size,
    CASE WHEN octet_length(r.error) > :largest::bigint THEN NULL ELSE r.error END AS error,
    CASE WHEN octet_length(r.error) > :largest::bigint THEN octet_length(r.error) END AS error_size
FROM runs r JOIN payloads p USING (payload_id) JOIN jobs j ON j.number = r.job_number
WHERE r.run_id IN :run_ids[text];
