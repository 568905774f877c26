-- name: allocate
-- Take so many numbers of each counter; answers the last of each.
SELECT name, value FROM take_numbers(:jobs, :positions, :payloads);

-- name: raise_position
-- New jobs come behind this position.
SELECT setval('positions', greatest(CAST(:position AS bigint), pg_sequence_last_value('positions'), 1));

-- name: lane_by_key
-- The lane with this key.
SELECT lane_id FROM lanes WHERE key = :key;

-- name: insert_lane
-- A lane that no job used before.
INSERT INTO lanes (lane_id, key, queue, job_type, cost_units, requires, limits)
SELECT coalesce(max(lane_id), 0) + 1, :key, :queue, :job_type, :cost_units, :requires, :limits FROM lanes
RETURNING lane_id;

-- name: lanes
-- Every lane there ever was.
SELECT {lanes} FROM lanes;

-- name: lanes_by_id
-- Some lanes.
SELECT {lanes} FROM lanes WHERE lane_id = ANY (CAST(:lane_ids AS bigint[]));

-- name: insert_payload
-- Params of a job.
INSERT INTO payloads (payload_id, body)
SELECT payload_id, body FROM json_populate_recordset(CAST(NULL AS payloads), CAST(:rows AS json));

-- name: insert_job
-- A new job.
INSERT INTO jobs (
    number, job_id, lane_id, payload_id, status, priority, position, terms, due_at, scheduled_for, chain,
    retry_of, attempt, generation, template_id, schedule_id, fire_time, group_id, group_place, open_deps, gated,
    approval, wait_kind, wait_detail, waited_on, unique_key, idempotency_key, request_hash, dedup_key,
    created_at, queued_at, delayed, lane_mark
) SELECT
    number, job_id, lane_id, payload_id, status, priority, position, terms, due_at, scheduled_for, chain,
    retry_of, attempt, generation, template_id, schedule_id, fire_time, group_id, group_place, open_deps, gated,
    approval, wait_kind, wait_detail, waited_on, unique_key, idempotency_key, request_hash, dedup_key,
    created_at, queued_at, delayed, (SELECT mark FROM lanes WHERE lanes.lane_id = r.lane_id)
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

-- name: insert_tag
-- A tag of a job.
INSERT INTO tags (tag, job_number) VALUES (:tag, :job_number);

-- name: job_numbers_by_id
-- Which numbers the jobs with these ids have.
SELECT job_id, number FROM jobs WHERE job_id = ANY (CAST(:job_ids AS text[]));

-- name: chains_of_jobs
-- Jobs by their numbers or ids, with their chains.
SELECT number, job_id, chain FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[]))
UNION ALL
SELECT number, job_id, chain FROM jobs WHERE job_id = ANY (CAST(:job_ids AS text[]));

-- name: job_records
-- Everything the scheduler decides from, for some jobs.
SELECT {jobs} FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[])) ORDER BY number;

-- name: job_views
-- Everything that is shown, for some jobs; of params that are larger, only their size.
SELECT j.{jobs}, l.queue, l.job_type, l.cost_units, l.requires, l.limits,
    CASE WHEN octet_length(p.body) > CAST(:largest AS bigint) THEN NULL ELSE p.body END AS params,
    CASE WHEN octet_length(p.body) > CAST(:largest AS bigint) THEN octet_length(p.body) END AS params_size,
    (SELECT job_id FROM jobs WHERE number = abs(j.chain)) AS chain_id,
    (SELECT job_id FROM jobs WHERE number = j.retry_of) AS retry_of_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') THEN (SELECT job_id FROM jobs
        WHERE chain = j.chain AND retry_of = j.number ORDER BY number DESC LIMIT 1)
    END AS retried_by_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') THEN
        (SELECT substr(error, 1, 300) FROM runs WHERE run_id = j.run_id)
    END AS error,
    (SELECT progress FROM leases WHERE job_number = j.number) AS live_progress
FROM jobs j JOIN lanes l USING (lane_id) JOIN payloads p USING (payload_id)
WHERE j.number = ANY (CAST(:numbers AS bigint[]));

-- name: jobs_by_idempotency_key
-- The jobs that were submitted with these keys.
SELECT idempotency_key, number, request_hash FROM jobs
WHERE idempotency_key = ANY (CAST(:keys AS text[]));

-- name: active_jobs_by_unique_key
-- The active jobs with these keys; each key has at most one.
SELECT unique_key, number FROM jobs
WHERE unique_key = ANY (CAST(:keys AS text[])) AND finished_at IS NULL;

-- name: succeeded_since
-- Whether a job with this key succeeded at or after a moment; the job's own chain does not count.
SELECT number FROM jobs WHERE dedup_key = :dedup_key AND status = 'SUCCEEDED' AND finished_at >= :since
AND abs(chain) <> (SELECT abs(chain) FROM jobs WHERE number = :number) LIMIT 1;

-- name: change_job
-- New params, priority, position or time of a job that waits.
UPDATE jobs SET payload_id = :payload_id, priority = :priority, position = :position,
    scheduled_for = :scheduled_for, delayed = :delayed
WHERE number = :number;

-- name: admit_jobs
-- Where waiting jobs stand now, and why. A limit has kept a job waiting until another gate closes.
UPDATE jobs SET status = :status, due_at = :due_at, wait_kind = :wait_kind, wait_detail = :wait_detail,
    waited_on = :waited_on, queued_at = coalesce(CAST(:queued_at AS bigint), queued_at), claim_expires_at = NULL,
    worker_id = NULL, limited_since = CASE WHEN CAST(:wait_kind AS text) IS NULL THEN limited_since END,
    lane_mark = (SELECT mark FROM lanes WHERE lanes.lane_id = jobs.lane_id)
WHERE number = ANY (CAST(:numbers AS bigint[]));

-- name: set_approval
-- What a person said.
UPDATE jobs SET approval = :approval WHERE number = :number;

-- name: ready_lanes
-- The lanes in which a job may start, and where their first jobs stand: one index seek for each lane,
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

-- name: lane_heads
-- The first jobs of a lane behind a place in the queue, in order.
SELECT number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, created_at, queued_at, limited_since, waited_on, lane_mark
FROM jobs WHERE lane_id = :lane_id AND status = 'QUEUED' AND due_at IS NULL AND priority <= :priority
AND (priority < :priority OR position > :position OR (position = :position AND number > :number))
ORDER BY priority DESC, position, number LIMIT :count;

-- name: hold_ready_jobs
-- Those of these jobs that may start and that nobody else is about to take. In one step, PostgreSQL
-- would read every job that is ready, and look for the numbers among them.
WITH held AS MATERIALIZED (
    SELECT number, status, due_at FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[]))
    FOR NO KEY UPDATE SKIP LOCKED)
SELECT number FROM held WHERE status = 'QUEUED' AND due_at IS NULL;

-- name: hold_jobs
-- Wait until nobody else changes these jobs. All who do this go by number, so nobody waits in a circle.
SELECT number FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[])) ORDER BY number
FOR NO KEY UPDATE;

-- name: starved_jobs
-- Jobs that a full limit has kept waiting since before a moment, the longest first.
SELECT number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, created_at, queued_at, limited_since, waited_on, lane_mark
FROM jobs WHERE limited_since <= :before ORDER BY limited_since, number LIMIT :count;

-- name: note_waited_on
-- The kinds of gates that these jobs have waited on so far.
UPDATE jobs SET waited_on = :waited_on WHERE number = ANY (CAST(:numbers AS bigint[]));

-- name: limit_reached
-- A job at the head of its lane met a full limit.
UPDATE jobs SET limited_since = :since WHERE number = :number;

-- name: start_jobs
-- These jobs run: a JSON object of run ids by job number. With a join to it, PostgreSQL may read every job.
UPDATE jobs SET status = 'RUNNING', worker_id = :worker_id, started_at = :started_at,
    run_id = (SELECT CAST(:run_ids AS jsonb)) ->> CAST(number AS text),
    claim_expires_at = NULL, wait_kind = NULL, wait_detail = NULL, limited_since = NULL
WHERE number = ANY (ARRAY (SELECT CAST(key AS bigint) FROM jsonb_object_keys(CAST(:run_ids AS jsonb)) key));

-- name: claim_job
-- A worker took the job and has not started it.
UPDATE jobs SET status = :status, worker_id = :worker_id, claim_expires_at = :claim_expires_at,
    wait_kind = :wait_kind, wait_detail = :wait_detail, denials = :denials, limited_since = :limited_since
WHERE number = :number;

-- name: end_jobs
-- These jobs have ended in the same way.
UPDATE jobs SET status = :status, finished_at = :finished_at, exit_code = :exit_code,
    retry_state = :retry_state, progress = coalesce(CAST(:progress AS text), progress), wait_kind = :wait_kind,
    wait_detail = :wait_detail, due_at = NULL, claim_expires_at = NULL, limited_since = NULL,
    started_at = coalesce(started_at, CAST(:started_at AS bigint)),
    waited_on = coalesce(CAST(:waited_on AS text), waited_on),
    run_id = coalesce(CAST(:run_id AS text), run_id), blocked_by = :blocked_by
WHERE number = ANY (CAST(:numbers AS bigint[]));

-- name: request_cancel
-- A running job is to end.
UPDATE jobs SET cancel = :cancel WHERE number = :number;

-- name: set_retry_state
-- What was decided about trying again.
UPDATE jobs SET retry_state = :retry_state WHERE number = :number;

-- name: chain_links
-- The links of some chains, oldest first.
SELECT number, job_id, chain, status, wait_detail, attempt FROM jobs
WHERE number = ANY (CAST(:chains AS bigint[])) AND chain = number
UNION ALL
SELECT number, job_id, chain, status, wait_detail, attempt FROM jobs
WHERE chain = ANY (CAST(:chains AS bigint[])) AND retry_of IS NOT NULL
ORDER BY chain, number;

-- name: due_jobs
-- Jobs whose time has come.
SELECT number FROM jobs WHERE due_at <= :now ORDER BY due_at LIMIT :count;

-- name: next_due_job
-- When the next job's time comes.
SELECT (SELECT due_at FROM jobs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS at;

-- name: expired_claims
-- Claims that no worker turned into a lease in time.
SELECT number FROM jobs WHERE claim_expires_at <= :now ORDER BY claim_expires_at LIMIT :count;

-- name: next_claim_expiry
-- When the next claim expires.
SELECT (SELECT claim_expires_at FROM jobs WHERE claim_expires_at IS NOT NULL
    ORDER BY claim_expires_at LIMIT 1) AS at;

-- name: claims_of_worker
-- What a worker has claimed and not started.
SELECT number, job_id FROM jobs WHERE claim_expires_at IS NOT NULL AND worker_id = :worker_id;

-- name: running_without_lease
-- Running jobs that no lease covers: only a damaged store has them.
SELECT number FROM jobs WHERE phase = 2 AND number > :after AND number NOT IN (SELECT job_number FROM leases)
ORDER BY number LIMIT :count;

-- name: without_retry_decision
-- Failures for which nobody decided whether to try again.
SELECT number FROM jobs WHERE (status = 'FAILED' OR status = 'TIMEOUT') AND retry_state = 'none'
AND number > :after ORDER BY number LIMIT :count;

-- name: band
-- The waiting jobs of one priority in order.
SELECT number, position FROM jobs
WHERE phase = 0
AND priority = :priority ORDER BY position, number;

-- name: neighbour_before
-- The job just before a place in its priority.
SELECT number, position FROM jobs
WHERE phase = 0
AND priority = :priority AND position <= :position AND (position < :position OR number < :number)
AND number <> :except
ORDER BY position DESC, number DESC LIMIT 1;

-- name: neighbour_after
-- The job just after a place in its priority.
SELECT number, position FROM jobs
WHERE phase = 0
AND priority = :priority AND position >= :position AND (position > :position OR number > :number)
AND number <> :except
ORDER BY position, number LIMIT 1;

-- name: set_position
-- A new place in the queue.
UPDATE jobs SET position = :position WHERE number = :number;

-- name: count_waiting
-- How many jobs wait; the index of the queue alone tells.
SELECT count(*) AS count FROM jobs WHERE phase = 0;

-- name: waiting_by_lane
-- How many jobs wait in which lane, status and for what, and since when the oldest does.
SELECT l.{lanes}, w.status, w.wait_kind, w.count, w.oldest FROM (
    SELECT lane_id, status, wait_kind, count(*) AS count, min(created_at) AS oldest
    FROM jobs WHERE phase = 0
    GROUP BY lane_id, status, wait_kind
) w JOIN lanes l USING (lane_id);

-- name: totals
-- How many jobs ever ended in which status.
SELECT status, CAST(sum(count) AS bigint) AS count FROM totals GROUP BY status;

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
    approval = CASE WHEN approval IS NULL THEN NULL ELSE 'PENDING' END, blocked_by = NULL
FROM json_to_recordset(CAST(:rows AS json)) r (
    number bigint, open_deps bigint, status text, wait_kind text, wait_detail text, waited_on text)
WHERE jobs.number = r.number;

-- name: active_jobs_of_schedule
-- Whether a job of this schedule is still active. For finished_at, PostgreSQL would read all active jobs.
SELECT number FROM jobs WHERE schedule_id = :schedule_id AND phase < 3 LIMIT 1;

-- name: payloads
-- Some params.
SELECT payload_id, body FROM payloads WHERE payload_id = ANY (CAST(:payload_ids AS bigint[]));

-- name: return_claim
-- A claim led to nothing.
UPDATE jobs SET status = 'QUEUED', claim_expires_at = NULL, worker_id = NULL, denials = 0, wait_kind = NULL,
    wait_detail = NULL, lane_mark = (SELECT mark FROM lanes WHERE lanes.lane_id = jobs.lane_id)
WHERE number = :number;

-- name: open_groups_without_active_members
-- Groups that nobody marked as ended although every member has.
SELECT group_id FROM groups WHERE ended_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.group_id = groups.group_id AND jobs.finished_at IS NULL);

-- name: renew_every_claim
-- The clock was set: claims last one more term.
UPDATE jobs SET claim_expires_at = :until WHERE claim_expires_at IS NOT NULL;

-- name: move_delays
-- The clock was set: jobs that wait for a span of time wait as long as was meant. One that was made since the last
-- look may know the new time already. One whose span is over and that waits for something else must not begin it anew.
UPDATE jobs SET due_at = due_at + CAST(:shift AS bigint), scheduled_for = scheduled_for + CAST(:shift AS bigint)
WHERE finished_at IS NULL AND phase < 2 AND delayed = 1 AND NOT created_at BETWEEN :looked AND :now;

-- name: delayed_jobs
-- Jobs that wait for a span of time, by number.
SELECT number FROM jobs WHERE due_at IS NOT NULL AND delayed = 1 AND number > :after ORDER BY number LIMIT :count;

-- name: closed_lanes
-- The lanes that are known to be closed as a whole.
SELECT {lanes} FROM lanes WHERE closed IS NOT NULL;

-- name: close_lane
-- Another gate than before is the first that is closed for a whole lane.
UPDATE lanes SET closed = :kind, mark = mark + 1 WHERE lane_id = :lane_id AND closed IS DISTINCT FROM :kind;

-- name: open_lanes
-- No gate is closed for the whole of these lanes any more.
UPDATE lanes SET closed = NULL, mark = mark + 1
WHERE lane_id = ANY (CAST(:lane_ids AS bigint[])) AND closed IS NOT NULL;

-- name: forget_lane_waits
-- A wait of the same kind right before is part of the next one; the oldest of very many are dropped.
DELETE FROM lane_waits WHERE lane_id = :lane_id AND (
    (kind = :kind AND mark = (SELECT max(mark) FROM lane_waits WHERE lane_id = :lane_id))
    OR mark <= (SELECT mark FROM lane_waits WHERE lane_id = :lane_id ORDER BY mark DESC LIMIT 1 OFFSET :most));

-- name: insert_lane_wait
-- What the jobs of a lane wait on from here on.
INSERT INTO lane_waits (lane_id, mark, kind, since)
SELECT lane_id, mark, closed, CAST(:since AS bigint) FROM lanes
WHERE lane_id = :lane_id AND closed IS NOT NULL ON CONFLICT DO NOTHING;

-- name: lane_waits_of
-- What closed the lanes of these jobs since they became ready, in order.
SELECT j.number, w.kind, w.since FROM jobs j JOIN lane_waits w ON w.lane_id = j.lane_id AND w.mark >= j.lane_mark
WHERE j.number = ANY (CAST(:numbers AS bigint[])) ORDER BY j.number, w.mark;
