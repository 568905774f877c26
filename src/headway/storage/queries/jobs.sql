-- name: lane_by_key
-- The lane with this key.
SELECT lane_id FROM lanes WHERE key = :key;

-- name: lanes
-- Every lane there ever was.
SELECT {lanes} FROM lanes;

-- name: lanes_by_id
-- Some lanes.
SELECT {lanes} FROM lanes WHERE lane_id IN :lane_ids[bigint];

-- name: insert_tag
-- A tag of a job.
INSERT INTO tags (tag, job_number) VALUES (:tag, :job_number);

-- name: insert_name
-- What a job is called, and the words by which it is found.
INSERT INTO job_names (job_number, name, words) VALUES (:job_number, :name, :words);

-- name: insert_word
-- A word by which a job is found.
INSERT INTO job_words (word, job_number) VALUES (:word, :job_number);

-- name: job_numbers_by_id
-- Which numbers the jobs with these ids have.
SELECT job_id, number FROM jobs WHERE job_id IN :job_ids[text];

-- name: chains_of_jobs
-- Jobs by their numbers or ids, with their chains.
SELECT number, job_id, first_job AS chain FROM jobs WHERE number IN :numbers[bigint]
UNION ALL
SELECT number, job_id, first_job AS chain FROM jobs WHERE job_id IN :job_ids[text];

-- name: job_records
-- Everything the scheduler decides from, for some jobs.
SELECT {jobs} FROM jobs WHERE number IN :numbers[bigint] ORDER BY number;

-- name: jobs_by_idempotency_key
-- The jobs that were submitted with these keys.
SELECT idempotency_key, number, request_hash FROM jobs
WHERE idempotency_key IN :keys[text];

-- name: succeeded_since
-- Whether a job with this key succeeded at or after a moment; the job's own chain does not count.
SELECT number FROM jobs WHERE dedup_key = :dedup_key AND status = 'SUCCEEDED' AND finished_at >= :since
AND first_job <> (SELECT first_job FROM jobs WHERE number = :number) LIMIT 1;

-- name: change_job
-- New params, priority, position or time of a job that waits.
UPDATE jobs SET payload_id = :payload_id, priority = :priority, position = :position,
    scheduled_for = :scheduled_for, delayed = :delayed, start_by = :start_by
WHERE number = :number;

-- name: admit_jobs
-- The status of waiting jobs, and why they wait. A limit has kept a job waiting until another gate closes.
UPDATE jobs SET status = :status, due_at = :due_at, wait_kind = :wait_kind, wait_detail = :wait_detail,
    waited_on = :waited_on, queued_at = coalesce(:queued_at::bigint, queued_at), claim_expires_at = NULL,
    worker_id = NULL, limited_since = CASE WHEN :wait_kind::text IS NULL THEN limited_since END,
    lane_mark = (SELECT mark FROM lanes WHERE lanes.lane_id = jobs.lane_id)
WHERE number IN :numbers[bigint];

-- name: set_approval
-- An approval or a rejection.
UPDATE jobs SET approval = :approval WHERE number = :number;

-- name: lane_heads
-- The first jobs of a lane behind a place in the queue, in order.
SELECT number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, created_at, queued_at, limited_since, waited_on, lane_mark, journal
FROM jobs WHERE lane_id = :lane_id AND status = 'QUEUED' AND due_at IS NULL AND priority <= :priority
AND (priority < :priority OR position > :position OR (position = :position AND number > :number))
ORDER BY priority DESC, position, number LIMIT :count;

-- name: starved_jobs
-- Jobs that a full limit has kept waiting since before a moment, the longest first.
SELECT number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, generation, gated,
    dedup_key, created_at, queued_at, limited_since, waited_on, lane_mark, journal
FROM jobs WHERE limited_since <= :before ORDER BY limited_since, number LIMIT :count;

-- name: note_waited_on
-- The kinds of gates that these jobs have waited on so far.
UPDATE jobs SET waited_on = :waited_on WHERE number IN :numbers[bigint];

-- name: limit_reached
-- A job at the head of its lane met a full limit.
UPDATE jobs SET limited_since = :since WHERE number = :number;

-- name: claim_job
-- A worker took the job and has not started it.
UPDATE jobs SET status = :status, worker_id = :worker_id, claim_expires_at = :claim_expires_at,
    wait_kind = :wait_kind, wait_detail = :wait_detail, denials = :denials, limited_since = :limited_since
WHERE number = :number;

-- name: end_jobs
-- These jobs have ended in the same way.
UPDATE jobs SET status = :status, finished_at = :finished_at, exit_code = :exit_code,
    retry_state = :retry_state, progress = coalesce(:progress::text, progress), wait_kind = :wait_kind,
    wait_detail = :wait_detail, due_at = NULL, claim_expires_at = NULL, limited_since = NULL,
    started_at = coalesce(started_at, :started_at::bigint),
    waited_on = coalesce(:waited_on::text, waited_on),
    run_id = coalesce(:run_id::text, run_id), blocked_by = :blocked_by, crashes = :crashes
WHERE number IN :numbers[bigint];

-- name: request_cancel
-- A running job is to end.
UPDATE jobs SET cancel = :cancel WHERE number = :number;

-- name: set_retry_state
-- What was decided about trying again.
UPDATE jobs SET retry_state = :retry_state WHERE number = :number;

-- name: chain_links
-- The links of some chains, oldest first.
SELECT number, job_id, chain, status, wait_detail, attempt FROM jobs
WHERE number IN :chains[bigint] AND chain = number
UNION ALL
SELECT number, job_id, chain, status, wait_detail, attempt FROM jobs
WHERE chain IN :chains[bigint] AND retry_of IS NOT NULL
ORDER BY chain, number;

-- name: chain_links_with_history
-- The links of some chains, and what rewinds took from them, oldest first.
SELECT number, job_id, history FROM jobs WHERE number IN :chains[bigint] AND chain = number
UNION ALL
SELECT number, job_id, history FROM jobs WHERE chain IN :chains[bigint] AND retry_of IS NOT NULL
UNION ALL
SELECT number, job_id, history FROM jobs WHERE first_job IN :chains[bigint] AND history = 1
ORDER BY number;

-- name: due_jobs
-- Jobs whose time has come.
SELECT number FROM jobs WHERE due_at <= :now ORDER BY due_at LIMIT :count;

-- name: next_due_job
-- When the next job's time comes.
SELECT (SELECT due_at FROM jobs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS at;

-- name: late_jobs
-- Jobs that have not started by when they should have.
SELECT number FROM jobs
WHERE start_by <= :now AND start_by IS NOT NULL AND started_at IS NULL AND finished_at IS NULL
ORDER BY start_by LIMIT :count;

-- name: next_late_job
-- When the next job must have started.
SELECT (SELECT start_by FROM jobs WHERE start_by IS NOT NULL AND started_at IS NULL AND finished_at IS NULL
    ORDER BY start_by LIMIT 1) AS at;

-- name: move_deadlines_of_starts
-- The clock was set: a span until a start lasts as long as was meant, unless it counts from a moment that was named.
UPDATE jobs SET start_by = start_by + :shift::bigint
WHERE start_by IS NOT NULL AND started_at IS NULL AND finished_at IS NULL
AND (delayed = 1 OR scheduled_for IS NULL) AND NOT created_at BETWEEN :looked AND :now;

-- name: expired_claims
-- Claims that no worker turned into a lease in time.
SELECT number FROM jobs WHERE claim_expires_at <= :now ORDER BY claim_expires_at LIMIT :count;

-- name: claimed_jobs
-- Jobs that workers have taken and not started.
SELECT number FROM jobs WHERE claim_expires_at IS NOT NULL ORDER BY number;

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
-- Failures without a decision on a retry.
SELECT number FROM jobs WHERE (status = 'FAILED' OR status = 'TIMEOUT') AND retry_state = 'none'
AND number > :after ORDER BY number LIMIT :count;

-- name: band
-- The waiting jobs of one priority in order, with the suspended ones, which keep their places.
SELECT number, position FROM (
    SELECT number, position FROM jobs WHERE phase = 0 AND priority = :priority
    UNION ALL
    SELECT number, position FROM jobs WHERE status = 'SUSPENDED' AND priority = :priority
) band ORDER BY position, number;

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
-- How many jobs wait in which lane, status and for what, and since when the oldest does. The sum keeps SQLite from
-- going through all jobs that there ever were, lane by lane.
SELECT l.{lanes}, w.status, w.wait_kind, w.count, w.oldest FROM (
    SELECT lane_id + 0 AS lane_id, status, wait_kind, count(*) AS count, min(created_at) AS oldest
    FROM jobs WHERE phase = 0
    GROUP BY lane_id + 0, status, wait_kind
) w JOIN lanes l USING (lane_id);

-- name: totals
-- How many jobs ever ended in which status.
SELECT status, CAST(sum(count) AS bigint) AS count FROM totals GROUP BY status;

-- name: active_jobs_of_schedule
-- Whether a job of this schedule is still active. For finished_at, PostgreSQL would read all active jobs.
SELECT number FROM jobs WHERE schedule_id = :schedule_id AND phase <> 3 LIMIT 1;

-- name: payloads
-- Some params.
SELECT payload_id, body, refers FROM payloads WHERE payload_id IN :payload_ids[bigint];

-- name: params_of_runs
-- The params that some runs had.
SELECT r.run_id, p.body FROM runs r JOIN payloads p USING (payload_id) WHERE r.run_id IN :run_ids[text];

-- name: chain_results
-- How the links of some chains succeeded, oldest first.
SELECT j.number, j.chain, j.status, r.result FROM jobs j LEFT JOIN runs r ON r.run_id = j.run_id
WHERE j.number IN :chains[bigint] AND j.chain = j.number AND j.status IN ('SUCCEEDED', 'SKIPPED')
UNION ALL
SELECT j.number, j.chain, j.status, r.result FROM jobs j LEFT JOIN runs r ON r.run_id = j.run_id
WHERE j.chain IN :chains[bigint] AND j.retry_of IS NOT NULL AND j.status IN ('SUCCEEDED', 'SKIPPED')
ORDER BY 2, 1;

-- name: return_claim
-- A claim led to nothing.
UPDATE jobs SET status = 'QUEUED', claim_expires_at = NULL, worker_id = NULL, denials = 0, wait_kind = NULL,
    wait_detail = NULL, lane_mark = (SELECT mark FROM lanes WHERE lanes.lane_id = jobs.lane_id)
WHERE number = :number;

-- name: open_groups_without_active_members
-- Groups that are not marked as ended although every member has ended.
SELECT group_id FROM groups WHERE ended_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.group_id = groups.group_id AND jobs.finished_at IS NULL);

-- name: renew_every_claim
-- The clock was set: claims last one more term.
UPDATE jobs SET claim_expires_at = :until WHERE claim_expires_at IS NOT NULL;

-- name: move_delays
-- The clock was set: jobs that wait for a span of time wait as long as was meant. One that was made since the last
-- look, or suspended, may know the new time already. One whose span is over and that waits for something else must not begin it anew.
UPDATE jobs SET due_at = due_at + :shift::bigint,
    scheduled_for = CASE WHEN phase = 4 THEN scheduled_for ELSE scheduled_for + :shift::bigint END
WHERE finished_at IS NULL AND phase <> 2 AND delayed = 1 AND NOT CASE WHEN phase = 4 THEN (
        SELECT started_at FROM steps WHERE chain = first_job AND steps.generation = jobs.generation
        AND steps.finished_at IS NULL)
    ELSE created_at END BETWEEN :looked AND :now;

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
WHERE lane_id IN :lane_ids[bigint] AND closed IS NOT NULL;

-- name: forget_lane_waits
-- A wait of the same kind right before is part of the next one; the oldest of very many are dropped.
DELETE FROM lane_waits WHERE lane_id = :lane_id AND (
    (kind = :kind AND mark = (SELECT max(mark) FROM lane_waits WHERE lane_id = :lane_id))
    OR mark <= (SELECT mark FROM lane_waits WHERE lane_id = :lane_id ORDER BY mark DESC LIMIT 1 OFFSET :most));

-- name: insert_lane_wait
-- What the jobs of a lane wait on from here on.
INSERT INTO lane_waits (lane_id, mark, kind, since)
SELECT lane_id, mark, closed, :since::bigint FROM lanes
WHERE lane_id = :lane_id AND closed IS NOT NULL ON CONFLICT DO NOTHING;

-- name: lane_waits_of
-- What closed the lanes of these jobs since they became ready, in order.
SELECT j.number, w.kind, w.since FROM jobs j JOIN lane_waits w ON w.lane_id = j.lane_id AND w.mark >= j.lane_mark
WHERE j.number IN :numbers[bigint] ORDER BY j.number, w.mark;
