-- name: allocate
-- Take so many numbers of each counter; returns the last of each.
UPDATE counters SET value = value + CASE name
    WHEN 'job' THEN :jobs WHEN 'position' THEN :positions ELSE :payloads END
RETURNING name, value;

-- name: raise_position
-- New jobs come behind this position.
UPDATE counters SET value = :position WHERE name = 'position' AND value < :position;

-- name: insert_lane
-- A lane that no job used before.
INSERT INTO lanes (key, queue, job_type, cost_units, requires, limits)
VALUES (:key, :queue, :job_type, :cost_units, :requires, :limits)
RETURNING lane_id;

-- name: insert_payload
-- Params of a job.
INSERT INTO payloads (payload_id, body, refers) VALUES (:payload_id, :body, :refers);

-- name: insert_job
-- A new job.
INSERT INTO jobs (
    number, job_id, lane_id, payload_id, status, priority, position, terms, due_at, scheduled_for, chain,
    retry_of, attempt, generation, template_id, schedule_id, fire_time, group_id, group_place, open_deps, gated,
    approval, wait_kind, wait_detail, waited_on, unique_key, idempotency_key, request_hash, dedup_key,
    created_at, queued_at, delayed, journal, parent, crashes, start_by, lane_mark
) VALUES (
    :number, :job_id, :lane_id, :payload_id, :status, :priority, :position, :terms, :due_at, :scheduled_for,
    :chain, :retry_of, :attempt, :generation, :template_id, :schedule_id, :fire_time, :group_id, :group_place, :open_deps,
    :gated, :approval, :wait_kind, :wait_detail, :waited_on, :unique_key, :idempotency_key, :request_hash,
    :dedup_key, :created_at, :queued_at, :delayed, :journal, :parent, :crashes, :start_by,
    (SELECT mark FROM lanes WHERE lane_id = :lane_id)
);

-- name: insert_plain_jobs
-- New jobs of which nothing special was asked, as an array of arrays: binding every column of every
-- job takes three times as long.
INSERT INTO jobs (
    number, chain, job_id, lane_id, payload_id, status, priority, position, terms, created_at, queued_at, lane_mark
) SELECT
    value ->> 0, value ->> 0, value ->> 1, value ->> 2, value ->> 3, 'QUEUED', value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8, (SELECT mark FROM lanes WHERE lane_id = value ->> 2)
FROM json_each(:jobs);

-- name: job_views
-- Everything that is shown, for some jobs; of params that are larger, only their size. Each look at a
-- large value reads all of it, so its size is looked up once.
WITH sizes AS MATERIALIZED (
    SELECT payload_id, length(CAST(body AS BLOB)) AS size FROM payloads
    WHERE :largest IS NOT NULL
    AND payload_id IN (SELECT payload_id FROM jobs WHERE number IN :numbers[bigint])
)
SELECT j.{jobs}, l.queue, l.job_type, l.cost_units, l.requires, l.limits,
    CASE WHEN s.size > :largest THEN NULL ELSE p.body END AS params,
    CASE WHEN s.size > :largest THEN s.size END AS params_size,
    (SELECT job_id FROM jobs WHERE number = j.first_job) AS chain_id,
    (SELECT job_id FROM jobs WHERE number = j.retry_of) AS retry_of_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') OR j.retry_state = 'scheduled' THEN (SELECT job_id FROM jobs
        WHERE chain = j.chain AND retry_of = j.number ORDER BY number DESC LIMIT 1)
    END AS retried_by_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') THEN
        (SELECT substr(error, 1, 300) FROM runs WHERE run_id = j.run_id)
    END AS error,
    (SELECT progress FROM leases WHERE job_number = j.number) AS live_progress
FROM jobs j JOIN lanes l USING (lane_id) JOIN payloads p USING (payload_id) LEFT JOIN sizes s USING (payload_id)
WHERE j.number IN :numbers[bigint];

-- name: ready_lanes
-- The lanes in which a job may start, with the order of their first jobs: one index seek for each lane,
-- however many jobs wait. In the order of the index, the first job behind a lane is the head of the next.
WITH RECURSIVE heads (number) AS (
    SELECT (SELECT number FROM jobs WHERE status = 'QUEUED' AND due_at IS NULL AND lane_id > 0
        ORDER BY lane_id, priority DESC, position, number LIMIT 1)
    UNION ALL
    SELECT (SELECT n.number FROM jobs n WHERE n.status = 'QUEUED' AND n.due_at IS NULL AND n.lane_id > j.lane_id
        ORDER BY n.lane_id, n.priority DESC, n.position, n.number LIMIT 1)
    FROM heads JOIN jobs j USING (number)
)
SELECT l.{lanes}, j.number, j.priority, j.position FROM heads JOIN jobs j USING (number) JOIN lanes l USING (lane_id);

-- name: hold_ready_jobs
-- Those of these jobs that may start. SQLite has one writer, so no row needs a lock.
SELECT number FROM jobs
WHERE number IN :numbers[bigint] AND status = 'QUEUED' AND due_at IS NULL;

-- name: hold_jobs
-- SQLite has one writer, so no row needs a lock.
SELECT number FROM jobs WHERE number IN :numbers[bigint] ORDER BY number;

-- name: start_jobs
-- These jobs run: a JSON object of run ids by job number.
UPDATE jobs SET status = 'RUNNING', worker_id = :worker_id, run_id = r.value, started_at = :started_at,
    claim_expires_at = NULL, wait_kind = NULL, wait_detail = NULL, limited_since = NULL
FROM json_each(:run_ids) r WHERE jobs.number = CAST(r.key AS INTEGER);

-- name: add_to_total
-- More jobs ended in this status.
INSERT INTO totals (status, part, count) VALUES (:status, 0, :count)
ON CONFLICT (status, part) DO UPDATE SET count = totals.count + excluded.count;

-- name: rewind_job
-- A new generation of a job: as if it had just been submitted.
UPDATE jobs SET generation = generation + 1, status = :status, attempt = 0, scheduled_for = NULL, due_at = NULL,
    started_at = NULL, finished_at = NULL, exit_code = NULL, cancel = NULL, worker_id = NULL,
    claim_expires_at = NULL, denials = 0, run_id = NULL, progress = NULL, retry_state = 'none',
    wait_kind = :wait_kind, wait_detail = :wait_detail, waited_on = :waited_on, limited_since = NULL,
    open_deps = :open_deps, queued_at = NULL,
    approval = CASE WHEN approval IS NULL THEN NULL ELSE 'PENDING' END, blocked_by = NULL, journal = 0,
    crashes = 0, start_by = :start_by
WHERE number = :number;

-- name: active_jobs_by_unique_key
-- The active jobs with these keys; each key has at most one.
SELECT unique_key, number FROM jobs WHERE unique_key IN :keys[text] AND finished_at IS NULL;
