-- name: allocate
-- Take so many numbers of each counter; returns the last of each.
SELECT name, value FROM take_numbers(:jobs, :positions, :payloads);

-- name: raise_position
-- New jobs come behind this position.
SELECT setval('positions', greatest(:position::bigint, pg_sequence_last_value('positions'), 1));

-- name: insert_lane
-- A lane that no job used before.
INSERT INTO lanes (lane_id, key, queue, job_type, cost_units, requires, limits)
SELECT coalesce(max(lane_id), 0) + 1, :key, :queue, :job_type, :cost_units, :requires, :limits FROM lanes
RETURNING lane_id;

-- name: insert_payload
-- Params of a job.
INSERT INTO payloads (payload_id, body, refers)
SELECT payload_id, body, refers FROM json_populate_recordset(CAST(NULL AS payloads), CAST(:rows AS json));

-- name: insert_job
-- A new job.
INSERT INTO jobs (
    number, job_id, lane_id, payload_id, status, priority, position, terms, due_at, scheduled_for, chain,
    retry_of, attempt, generation, template_id, schedule_id, fire_time, group_id, group_place, open_deps, gated,
    approval, wait_kind, wait_detail, waited_on, unique_key, idempotency_key, request_hash, dedup_key,
    created_at, queued_at, delayed, journal, parent, crashes, start_by, lane_mark
) SELECT
    number, job_id, lane_id, payload_id, status, priority, position, terms, due_at, scheduled_for, chain,
    retry_of, attempt, generation, template_id, schedule_id, fire_time, group_id, group_place, open_deps, gated,
    approval, wait_kind, wait_detail, waited_on, unique_key, idempotency_key, request_hash, dedup_key,
    created_at, queued_at, delayed, journal, parent, crashes, start_by,
    (SELECT mark FROM lanes WHERE lanes.lane_id = r.lane_id)
FROM json_populate_recordset(CAST(NULL AS jobs), CAST(:rows AS json)) r;

-- name: insert_plain_jobs
-- New jobs of which nothing special was asked, as an array of arrays.
INSERT INTO jobs (
    number, chain, job_id, lane_id, payload_id, status, priority, position, terms, created_at, queued_at, lane_mark
) SELECT
    CAST(value ->> 0 AS bigint), CAST(value ->> 0 AS bigint), value ->> 1, CAST(value ->> 2 AS bigint),
    CAST(value ->> 3 AS bigint), 'QUEUED', CAST(value ->> 4 AS bigint), CAST(value ->> 5 AS bigint), value ->> 6,
    CAST(value ->> 7 AS bigint), CAST(value ->> 8 AS bigint),
    (SELECT mark FROM lanes WHERE lane_id = CAST(value ->> 2 AS bigint))
FROM jsonb_array_elements(CAST(:jobs AS jsonb)) AS r (value);

-- name: job_views
-- Everything that is shown, for some jobs; of params that are larger, only their size.
SELECT j.{jobs}, l.queue, l.job_type, l.cost_units, l.requires, l.limits,
    CASE WHEN octet_length(p.body) > :largest::bigint THEN NULL ELSE p.body END AS params,
    CASE WHEN octet_length(p.body) > :largest::bigint THEN octet_length(p.body) END AS params_size,
    (SELECT job_id FROM jobs WHERE number = j.first_job) AS chain_id,
    (SELECT job_id FROM jobs WHERE number = j.retry_of) AS retry_of_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') OR j.retry_state = 'scheduled' THEN (SELECT job_id FROM jobs
        WHERE chain = j.chain AND retry_of = j.number ORDER BY number DESC LIMIT 1)
    END AS retried_by_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') THEN
        (SELECT substr(error, 1, 300) FROM runs WHERE run_id = j.run_id)
    END AS error,
    (SELECT progress FROM leases WHERE job_number = j.number) AS live_progress
FROM jobs j JOIN lanes l USING (lane_id) JOIN payloads p USING (payload_id)
WHERE j.number IN :numbers[bigint];

-- name: ready_lanes
-- The lanes in which a job may start, with the order of their first jobs: one index seek for each lane,
-- however many jobs wait. In the order of the index, the first job behind a lane is the head of the next.
WITH RECURSIVE heads (lane_id, number, priority, position) AS (
    (SELECT lane_id, number, priority, position FROM jobs WHERE status = 'QUEUED' AND due_at IS NULL
    ORDER BY lane_id, priority DESC, position, number LIMIT 1)
    UNION ALL
    SELECT n.* FROM heads CROSS JOIN LATERAL (
        SELECT lane_id, number, priority, position FROM jobs
        WHERE status = 'QUEUED' AND due_at IS NULL AND lane_id > heads.lane_id
        ORDER BY lane_id, priority DESC, position, number LIMIT 1) n
)
SELECT l.{lanes}, h.number, h.priority, h.position FROM heads h JOIN lanes l USING (lane_id);

-- name: hold_ready_jobs
-- Lock the rows of those of these jobs that may start and that no other claim has locked. In one step, PostgreSQL
-- would read every ready job and search the numbers among them.
WITH held AS MATERIALIZED (
    SELECT number, status, due_at FROM jobs WHERE number IN :numbers[bigint]
    FOR NO KEY UPDATE SKIP LOCKED)
SELECT number FROM held WHERE status = 'QUEUED' AND due_at IS NULL;

-- name: hold_jobs
-- Lock the rows of these jobs. All transactions lock them in the order of their numbers, so none deadlock.
SELECT number FROM jobs WHERE number IN :numbers[bigint] ORDER BY number
FOR NO KEY UPDATE;

-- name: start_jobs
-- These jobs run: a JSON object of run ids by job number. With a join to it, PostgreSQL may read every job.
UPDATE jobs SET status = 'RUNNING', worker_id = :worker_id, started_at = :started_at,
    run_id = (SELECT CAST(:run_ids AS jsonb)) ->> CAST(number AS text),
    claim_expires_at = NULL, wait_kind = NULL, wait_detail = NULL, limited_since = NULL
WHERE number = ANY (ARRAY (SELECT CAST(key AS bigint) FROM jsonb_object_keys(CAST(:run_ids AS jsonb)) key));

-- name: add_to_total
-- More jobs ended in this status.
INSERT INTO totals (status, part, count) VALUES (:status, pg_backend_pid() % 1000, :count)
ON CONFLICT (status, part) DO UPDATE SET count = totals.count + excluded.count;

-- name: rewind_job
-- A new generation of a job: as if it had just been submitted.
UPDATE jobs SET generation = generation + 1, status = r.status, attempt = 0, scheduled_for = NULL, due_at = NULL,
    started_at = NULL, finished_at = NULL, exit_code = NULL, cancel = NULL, worker_id = NULL,
    claim_expires_at = NULL, denials = 0, run_id = NULL, progress = NULL, retry_state = 'none',
    wait_kind = r.wait_kind, wait_detail = r.wait_detail, waited_on = r.waited_on, limited_since = NULL,
    open_deps = r.open_deps, queued_at = NULL,
    approval = CASE WHEN approval IS NULL THEN NULL ELSE 'PENDING' END, blocked_by = NULL, journal = 0,
    crashes = 0, start_by = r.start_by
FROM json_to_recordset(CAST(:rows AS json)) r (
    number bigint, open_deps bigint, status text, wait_kind text, wait_detail text, waited_on text,
    start_by bigint)
WHERE jobs.number = r.number;

-- name: active_jobs_by_unique_key
-- The active jobs with these keys; each key has at most one. One seek for each key: with statistics from a time
-- when no job had a key, a list of keys is looked for in the whole index.
SELECT j.unique_key, j.number FROM :keys[text] k CROSS JOIN LATERAL (
    SELECT unique_key, number FROM jobs WHERE unique_key = k.value AND finished_at IS NULL LIMIT 1) j;
