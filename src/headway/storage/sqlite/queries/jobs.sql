-- name: allocate
-- Take so many numbers of each counter; answers the last of each.
UPDATE counters SET value = value + CASE name
    WHEN 'job' THEN :jobs WHEN 'position' THEN :positions ELSE :payloads END
RETURNING name, value;

-- name: raise_position
-- New jobs come behind this position.
UPDATE counters SET value = :position WHERE name = 'position' AND value < :position;

-- name: lane_by_key
-- The lane with this key.
SELECT lane_id FROM lanes WHERE key = :key;

-- name: insert_lane
-- A lane that no job used before.
INSERT INTO lanes (key, queue, job_type, cost_units, requires, limits)
VALUES (:key, :queue, :job_type, :cost_units, :requires, :limits)
RETURNING lane_id;

-- name: lanes
-- Every lane there ever was.
SELECT {lanes} FROM lanes;

-- name: lanes_by_id
-- Some lanes.
SELECT {lanes} FROM lanes WHERE lane_id IN (SELECT value FROM json_each(:lane_ids));

-- name: insert_payload
-- Params of a job.
INSERT INTO payloads (payload_id, body) VALUES (:payload_id, :body);

-- name: insert_job
-- A new job.
INSERT INTO jobs (
    number, job_id, lane_id, payload_id, status, priority, position, terms, due_at, scheduled_for, chain,
    retry_of, attempt, generation, template_id, schedule_id, fire_time, group_id, group_place, open_deps, gated,
    approval, wait_kind, wait_detail, waited_on, unique_key, idempotency_key, request_hash, dedup_key,
    created_at, queued_at, delayed, lane_mark
) VALUES (
    :number, :job_id, :lane_id, :payload_id, :status, :priority, :position, :terms, :due_at, :scheduled_for,
    :chain, :retry_of, :attempt, :generation, :template_id, :schedule_id, :fire_time, :group_id, :group_place, :open_deps,
    :gated, :approval, :wait_kind, :wait_detail, :waited_on, :unique_key, :idempotency_key, :request_hash,
    :dedup_key, :created_at, :queued_at, :delayed, (SELECT mark FROM lanes WHERE lane_id = :lane_id)
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

-- name: insert_tag
-- A tag of a job.
INSERT INTO tags (tag, job_number) VALUES (:tag, :job_number);

-- name: job_numbers_by_id
-- Which numbers the jobs with these ids have.
SELECT job_id, number FROM jobs WHERE job_id IN (SELECT value FROM json_each(:job_ids));

-- name: chains_of_jobs
-- Jobs by their numbers or ids, with their chains.
SELECT number, job_id, chain FROM jobs WHERE number IN (SELECT value FROM json_each(:numbers))
UNION ALL
SELECT number, job_id, chain FROM jobs WHERE job_id IN (SELECT value FROM json_each(:job_ids));

-- name: job_records
-- Everything the scheduler decides from, for some jobs.
SELECT {jobs} FROM jobs WHERE number IN (SELECT value FROM json_each(:numbers)) ORDER BY number;

-- name: job_views
-- Everything that is shown, for some jobs; of params that are larger, only their size. Each look at a
-- large value reads all of it, so its size is looked up once.
WITH sizes AS MATERIALIZED (
    SELECT payload_id, length(CAST(body AS BLOB)) AS size FROM payloads
    WHERE :largest IS NOT NULL
    AND payload_id IN (SELECT payload_id FROM jobs WHERE number IN (SELECT value FROM json_each(:numbers)))
)
SELECT j.{jobs}, l.queue, l.job_type, l.cost_units, l.requires, l.limits,
    CASE WHEN s.size > :largest THEN NULL ELSE p.body END AS params,
    CASE WHEN s.size > :largest THEN s.size END AS params_size,
    (SELECT job_id FROM jobs WHERE number = abs(j.chain)) AS chain_id,
    (SELECT job_id FROM jobs WHERE number = j.retry_of) AS retry_of_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') THEN (SELECT job_id FROM jobs
        WHERE chain = j.chain AND retry_of = j.number ORDER BY number DESC LIMIT 1)
    END AS retried_by_id,
    CASE WHEN j.status IN ('FAILED', 'TIMEOUT') THEN
        (SELECT substr(error, 1, 300) FROM runs WHERE run_id = j.run_id)
    END AS error,
    (SELECT progress FROM leases WHERE job_number = j.number) AS live_progress
FROM jobs j JOIN lanes l USING (lane_id) JOIN payloads p USING (payload_id) LEFT JOIN sizes s USING (payload_id)
WHERE j.number IN (SELECT value FROM json_each(:numbers));

-- name: jobs_by_idempotency_key
-- The jobs that were submitted with these keys.
SELECT idempotency_key, number, request_hash FROM jobs
WHERE idempotency_key IN (SELECT value FROM json_each(:keys));

-- name: active_jobs_by_unique_key
-- The active jobs with these keys; each key has at most one.
SELECT unique_key, number FROM jobs
WHERE unique_key IN (SELECT value FROM json_each(:keys)) AND finished_at IS NULL;

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
    waited_on = :waited_on, queued_at = coalesce(:queued_at, queued_at), claim_expires_at = NULL,
    worker_id = NULL, limited_since = CASE WHEN :wait_kind IS NULL THEN limited_since END,
    lane_mark = (SELECT mark FROM lanes WHERE lanes.lane_id = jobs.lane_id)
WHERE number IN (SELECT value FROM json_each(:numbers));

-- name: set_approval
-- What a person said.
UPDATE jobs SET approval = :approval WHERE number = :number;

-- name: ready_lanes
-- The lanes in which a job may start, and where their first jobs stand: one index seek for each lane,
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

-- name: lane_heads
-- The first jobs of a lane behind a place in the queue, in order.
SELECT number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, created_at, queued_at, limited_since, waited_on, lane_mark
FROM jobs WHERE lane_id = :lane_id AND status = 'QUEUED' AND due_at IS NULL AND priority <= :priority
AND (priority < :priority OR position > :position OR (position = :position AND number > :number))
ORDER BY priority DESC, position, number LIMIT :count;

-- name: hold_ready_jobs
-- Those of these jobs that may start: nobody else is about to take one.
SELECT number FROM jobs
WHERE number IN (SELECT value FROM json_each(:numbers)) AND status = 'QUEUED' AND due_at IS NULL;

-- name: hold_jobs
-- Nobody else changes these jobs.
SELECT number FROM jobs WHERE number IN (SELECT value FROM json_each(:numbers)) ORDER BY number;

-- name: starved_jobs
-- Jobs that a full limit has kept waiting since before a moment, the longest first.
SELECT number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, created_at, queued_at, limited_since, waited_on, lane_mark
FROM jobs WHERE limited_since <= :before ORDER BY limited_since, number LIMIT :count;

-- name: note_waited_on
-- The kinds of gates that these jobs have waited on so far.
UPDATE jobs SET waited_on = :waited_on WHERE number IN (SELECT value FROM json_each(:numbers));

-- name: limit_reached
-- A job at the head of its lane met a full limit.
UPDATE jobs SET limited_since = :since WHERE number = :number;

-- name: start_jobs
-- These jobs run: a JSON object of run ids by job number.
UPDATE jobs SET status = 'RUNNING', worker_id = :worker_id, run_id = r.value, started_at = :started_at,
    claim_expires_at = NULL, wait_kind = NULL, wait_detail = NULL, limited_since = NULL
FROM json_each(:run_ids) r WHERE jobs.number = CAST(r.key AS INTEGER);

-- name: claim_job
-- A worker took the job and has not started it.
UPDATE jobs SET status = :status, worker_id = :worker_id, claim_expires_at = :claim_expires_at,
    wait_kind = :wait_kind, wait_detail = :wait_detail, denials = :denials, limited_since = :limited_since
WHERE number = :number;

-- name: end_jobs
-- These jobs have ended in the same way.
UPDATE jobs SET status = :status, finished_at = :finished_at, exit_code = :exit_code,
    retry_state = :retry_state, progress = coalesce(:progress, progress), wait_kind = :wait_kind,
    wait_detail = :wait_detail, due_at = NULL, claim_expires_at = NULL, limited_since = NULL,
    started_at = coalesce(started_at, :started_at), waited_on = coalesce(:waited_on, waited_on),
    run_id = coalesce(:run_id, run_id), blocked_by = :blocked_by
WHERE number IN (SELECT value FROM json_each(:numbers));

-- name: request_cancel
-- A running job is to end.
UPDATE jobs SET cancel = :cancel WHERE number = :number;

-- name: set_retry_state
-- What was decided about trying again.
UPDATE jobs SET retry_state = :retry_state WHERE number = :number;

-- name: chain_links
-- The links of some chains, oldest first.
SELECT number, job_id, chain, status, wait_detail, attempt FROM jobs
WHERE number IN (SELECT value FROM json_each(:chains)) AND chain = number
UNION ALL
SELECT number, job_id, chain, status, wait_detail, attempt FROM jobs
WHERE chain IN (SELECT value FROM json_each(:chains)) AND retry_of IS NOT NULL
ORDER BY chain, number;

-- name: due_jobs
-- Jobs whose time has come.
SELECT number FROM jobs WHERE due_at <= :now ORDER BY due_at LIMIT :count;

-- name: next_due_job
-- When the next job's time comes.
SELECT min(due_at) AS at FROM jobs WHERE due_at IS NOT NULL;

-- name: expired_claims
-- Claims that no worker turned into a lease in time.
SELECT number FROM jobs WHERE claim_expires_at <= :now ORDER BY claim_expires_at LIMIT :count;

-- name: next_claim_expiry
-- When the next claim expires.
SELECT min(claim_expires_at) AS at FROM jobs WHERE claim_expires_at IS NOT NULL;

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
SELECT status, sum(count) AS count FROM totals GROUP BY status;

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
    approval = CASE WHEN approval IS NULL THEN NULL ELSE 'PENDING' END, blocked_by = NULL
WHERE number = :number;

-- name: active_jobs_of_schedule
-- Whether a job of this schedule is still active.
SELECT number FROM jobs WHERE schedule_id = :schedule_id AND finished_at IS NULL LIMIT 1;

-- name: payloads
-- Some params.
SELECT payload_id, body FROM payloads WHERE payload_id IN (SELECT value FROM json_each(:payload_ids));

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
UPDATE jobs SET due_at = due_at + :shift, scheduled_for = scheduled_for + :shift
WHERE finished_at IS NULL AND phase < 2 AND delayed = 1 AND NOT created_at BETWEEN :looked AND :now;

-- name: delayed_jobs
-- Jobs that wait for a span of time, by number.
SELECT number FROM jobs WHERE due_at IS NOT NULL AND delayed = 1 AND number > :after ORDER BY number LIMIT :count;

-- name: closed_lanes
-- The lanes that are known to be closed as a whole.
SELECT {lanes} FROM lanes WHERE closed IS NOT NULL;

-- name: close_lane
-- Another gate than before is the first that is closed for a whole lane.
UPDATE lanes SET closed = :kind, mark = mark + 1 WHERE lane_id = :lane_id AND closed IS NOT :kind;

-- name: open_lanes
-- No gate is closed for the whole of these lanes any more.
UPDATE lanes SET closed = NULL, mark = mark + 1
WHERE lane_id IN (SELECT value FROM json_each(:lane_ids)) AND closed IS NOT NULL;

-- name: forget_lane_waits
-- A wait of the same kind right before is part of the next one; the oldest of very many are dropped.
DELETE FROM lane_waits WHERE lane_id = :lane_id AND (
    (kind = :kind AND mark = (SELECT max(mark) FROM lane_waits WHERE lane_id = :lane_id))
    OR mark <= (SELECT mark FROM lane_waits WHERE lane_id = :lane_id ORDER BY mark DESC LIMIT 1 OFFSET :most));

-- name: insert_lane_wait
-- What the jobs of a lane wait on from here on.
INSERT INTO lane_waits (lane_id, mark, kind, since)
SELECT lane_id, mark, closed, :since FROM lanes
WHERE lane_id = :lane_id AND closed IS NOT NULL ON CONFLICT DO NOTHING;

-- name: lane_waits_of
-- What closed the lanes of these jobs since they became ready, in order.
SELECT j.number, w.kind, w.since FROM jobs j JOIN lane_waits w ON w.lane_id = j.lane_id AND w.mark >= j.lane_mark
WHERE j.number IN (SELECT value FROM json_each(:numbers)) ORDER BY j.number, w.mark;
