-- name: open_runs
-- Jobs that have just been started get their runs.
INSERT INTO runs (run_id, job_number, attempt, generation, payload_id, worker_id, lease_state, ttl_ms, started_at, output_at)
SELECT run_id, number, attempt, generation, payload_id, worker_id, 'ACTIVE', :ttl_ms, started_at, :output_at::text
FROM jobs WHERE number IN :numbers[bigint];

-- name: set_params_of_run
-- A run that has just been opened has params of its own: in those of its job, results are filled in.
UPDATE runs SET payload_id = :payload_id WHERE run_id = :run_id AND status IS NULL;

-- name: output_home
-- In which data directory the output of a run is; unknown for runs of earlier versions.
SELECT output_at FROM runs WHERE run_id = :run_id;

-- name: move_output
-- From here on the output of a run goes to another data directory, all of it.
UPDATE runs SET output_at = :data_id WHERE run_id = :run_id AND coalesce(output_at, '') <> :data_id;

-- name: insert_ended_run
-- A run that is recorded without having run: a skip, or what recovery finds missing.
INSERT INTO runs (run_id, job_number, attempt, generation, status, payload_id, worker_id, started_at, finished_at, error)
VALUES (:run_id, :number, :attempt, :generation, :run_status, :payload_id, :worker_id, :started_at, :finished_at, :error);

-- name: runs_of_chain
-- The runs of all links of a chain, oldest first.
SELECT run_id FROM runs WHERE job_number IN :numbers[bigint] ORDER BY run_id;

-- name: run_reports
-- How some runs were reported to end, to recognise the same report again.
SELECT run_id, job_number, worker_id, lease_state, status, report_hash, ttl_ms, started_at FROM runs
WHERE run_id IN :run_ids[text];
