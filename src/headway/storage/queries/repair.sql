-- name: release_stray_locks
-- Locks of jobs that do not run are free.
DELETE FROM locks WHERE job_number NOT IN (SELECT number FROM jobs WHERE status = 'RUNNING') RETURNING key;

-- name: count_open_dependencies
-- Jobs count their open dependencies anew.
UPDATE jobs SET open_deps = (SELECT count(*) FROM dependencies d WHERE d.job_number = number AND d.met = 0)
WHERE number IN :numbers[bigint];

-- name: remove_stray_lane_waits
-- What lanes waited on that are not there.
DELETE FROM lane_waits WHERE lane_id NOT IN (SELECT lane_id FROM lanes);

-- name: lost_lanes
-- Lanes that jobs refer to and that are not there.
SELECT DISTINCT j.lane_id FROM jobs j LEFT JOIN lanes l ON l.lane_id = j.lane_id WHERE l.lane_id IS NULL;

-- name: insert_lost_lane
-- A lane in place of one that is lost.
INSERT INTO lanes (lane_id, key, queue, job_type, cost_units, requires, limits)
VALUES (:lane_id, :key, 'lost', 'lost', 1, '[]', '{}');

-- name: lost_payloads
-- Params that jobs or runs refer to and that are not there.
SELECT j.payload_id FROM jobs j LEFT JOIN payloads p ON p.payload_id = j.payload_id WHERE p.payload_id IS NULL
UNION
SELECT r.payload_id FROM runs r LEFT JOIN payloads p ON p.payload_id = r.payload_id WHERE p.payload_id IS NULL;

-- name: insert_lost_payload
-- Params in place of those that are lost.
INSERT INTO payloads (payload_id, body) VALUES (:payload_id, :body);

-- name: insert_saved_run
-- A run of which only its job tells how it ended.
INSERT INTO runs (run_id, job_number, attempt, generation, status, payload_id, worker_id, started_at, finished_at,
    exit_code, error)
VALUES (:run_id, :number, :attempt, :generation, :run_status, :payload_id, :worker_id, :started_at, :finished_at,
    :exit_code, :error);

-- name: highest_numbers
-- The highest job number, position and payload id that any row speaks of.
SELECT 'job' AS name, greatest(
    (SELECT coalesce(max(number), 0) FROM jobs), (SELECT coalesce(max(job_number), 0) FROM events),
    (SELECT coalesce(max(job_number), 0) FROM runs), (SELECT coalesce(max(job_number), 0) FROM fires),
    (SELECT coalesce(max(job_number), 0) FROM deliveries)) AS value
UNION ALL SELECT 'position', coalesce(max(position), 0) FROM jobs
UNION ALL SELECT 'payload', greatest(
    (SELECT coalesce(max(payload_id), 0) FROM payloads), (SELECT coalesce(max(payload_id), 0) FROM jobs),
    (SELECT coalesce(max(payload_id), 0) FROM runs), (SELECT coalesce(-min(chain), 0) FROM groups));

-- name: leave_lost_groups
-- Members of groups that are not there belong to none.
UPDATE jobs SET group_id = NULL, group_place = NULL WHERE number IN :numbers[bigint];

-- name: jobs_with_terms
-- Jobs that say something of what they come after, need, make, lock or are tagged with.
SELECT {jobs} FROM jobs WHERE number > :after AND terms <> '{}' ORDER BY number LIMIT :count;

-- name: restore_dependency
-- A dependency, if it is missing.
INSERT INTO dependencies (job_number, chain, policy, met) VALUES (:job_number, :chain, :policy, :met)
ON CONFLICT DO NOTHING;

-- name: restore_need
-- What a job needs, if it is missing.
INSERT INTO needs (artifact, job_number) VALUES (:artifact, :job_number) ON CONFLICT DO NOTHING;

-- name: restore_product
-- What a job makes, if it is missing.
INSERT INTO produces (artifact, job_number) VALUES (:artifact, :job_number) ON CONFLICT DO NOTHING;

-- name: restore_tag
-- A tag of a job, if it is missing.
INSERT INTO tags (tag, job_number) VALUES (:tag, :job_number) ON CONFLICT DO NOTHING;

-- name: restore_name
-- What a job is called, and the words by which it is found, where its row is missing.
INSERT INTO job_names (job_number, name, words) VALUES (:job_number, :name, :words) ON CONFLICT DO NOTHING;

-- name: restore_word
-- A word by which a job is found, where its row is missing.
INSERT INTO job_words (word, job_number) VALUES (:word, :job_number) ON CONFLICT DO NOTHING;

-- name: restore_lock
-- A lock that a running job holds, if it is missing.
INSERT INTO locks (key, job_number, mode, since) VALUES (:key, :job_number, :mode, :since) ON CONFLICT DO NOTHING;
