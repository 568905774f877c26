-- name: place_lock_waiters
-- Jobs have the same position in the queues for locks as in the queue of jobs.
UPDATE lock_waiters SET position = (SELECT position FROM jobs WHERE number = job_number)
WHERE priority = :priority;

-- name: chain_members
-- All links of some chains, the first ones too.
SELECT {jobs} FROM jobs WHERE number IN :chains[bigint] AND chain = number
UNION ALL
SELECT {jobs} FROM jobs WHERE chain IN :chains[bigint] AND retry_of IS NOT NULL
ORDER BY number;

-- name: chain_members_with_history
-- All links of some chains, and what rewinds took from them.
SELECT {jobs} FROM jobs WHERE number IN :chains[bigint] AND chain = number
UNION ALL
SELECT {jobs} FROM jobs WHERE chain IN :chains[bigint] AND retry_of IS NOT NULL
UNION ALL
SELECT {jobs} FROM jobs WHERE first_job IN :chains[bigint] AND history = 1
ORDER BY number;

-- name: become_history
-- A retry of an earlier generation is history: neither its chain nor its group is judged by it.
-- `first_job` and `history` are derived from the chain, whose sign the version before reads.
UPDATE jobs SET chain = -chain, group_id = NULL, group_place = NULL WHERE number = :number;

-- name: ended_from
-- Jobs that ended like this, by number.
SELECT number, first_job AS chain, created_at, finished_at FROM jobs
WHERE status = :status AND finished_at IS NOT NULL AND number > :after
ORDER BY number LIMIT :count;

-- name: chains_that_active_jobs_follow
-- Which of these chains a job that is not over comes after.
SELECT DISTINCT d.chain FROM dependencies d JOIN jobs j ON j.number = d.job_number
WHERE d.chain IN :chains[bigint] AND j.finished_at IS NULL;

-- name: parents_that_are_active
-- Which of these chains have a link that is not over. A chain that is gone has none.
SELECT first_job AS chain FROM jobs WHERE number IN :chains[bigint] AND chain = number AND finished_at IS NULL
UNION
SELECT first_job AS chain FROM jobs WHERE chain IN :chains[bigint] AND retry_of IS NOT NULL AND finished_at IS NULL;

-- name: parents_of_active_jobs
-- Which of these chains have a child that is not over.
SELECT DISTINCT parent AS chain FROM jobs WHERE parent IN :chains[bigint] AND finished_at IS NULL;

-- name: artifacts_that_active_jobs_need
-- Which of these artifacts a job that is not over needs.
SELECT DISTINCT n.artifact FROM needs n JOIN jobs j ON j.number = n.job_number
WHERE n.artifact IN :artifacts[text] AND j.finished_at IS NULL;

-- name: groups_in_use
-- Which of these groups have a member that is not over, or not for long enough, or that an active job comes after.
SELECT DISTINCT group_id FROM jobs
WHERE group_id IN :group_ids[text]
AND (finished_at IS NULL OR finished_at > :until)
UNION
SELECT g.group_id FROM groups g JOIN dependencies d ON d.chain = g.chain JOIN jobs j ON j.number = d.job_number
WHERE g.group_id IN :group_ids[text] AND j.finished_at IS NULL;

-- name: jobs_with_undelivered_messages
-- Which of these jobs have a message that is still to be delivered.
SELECT DISTINCT job_number FROM deliveries
WHERE job_number IN :numbers[bigint] AND status = 'PENDING';

-- name: payloads_of_runs
-- The runs of some jobs, and which params they had.
SELECT run_id, payload_id FROM runs WHERE job_number IN :numbers[bigint];

-- name: delete_jobs
-- Collected jobs are gone.
DELETE FROM jobs WHERE number IN :numbers[bigint];

-- name: delete_runs
-- And their runs.
DELETE FROM runs WHERE job_number IN :numbers[bigint];

-- name: delete_events
-- And their history.
DELETE FROM events WHERE job_number IN :numbers[bigint];

-- name: delete_deliveries
-- And the messages about them.
DELETE FROM deliveries WHERE job_number IN :numbers[bigint];

-- name: delete_dependencies
-- And what they came after.
DELETE FROM dependencies WHERE job_number IN :numbers[bigint];

-- name: delete_steps
-- And what their programs had done.
DELETE FROM steps WHERE chain IN :numbers[bigint];

-- name: delete_signals
-- And signals that were never taken.
DELETE FROM signals WHERE chain IN :numbers[bigint];

-- name: delete_payloads
-- And their params; those that all jobs without params share stay.
DELETE FROM payloads WHERE payload_id IN :payload_ids[bigint] AND payload_id <> 0;

-- name: delete_tag
-- And their tags.
DELETE FROM tags WHERE tag = :tag AND job_number = :job_number;

-- name: delete_names
-- And what they were called.
DELETE FROM job_names WHERE job_number IN :numbers[bigint];

-- name: delete_word
-- And the words by which they were found.
DELETE FROM job_words WHERE word = :word AND job_number = :job_number;

-- name: delete_need
-- And what they needed.
DELETE FROM needs WHERE artifact = :artifact AND job_number = :job_number;

-- name: delete_product
-- And what they made.
DELETE FROM produces WHERE artifact = :artifact AND job_number = :job_number;

-- name: delete_empty_groups
-- Those of these groups that have no members any more are gone too.
DELETE FROM groups WHERE group_id IN :group_ids[text]
AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.group_id = groups.group_id);

-- name: delete_old_direct_requests
-- Records of direct requests from long ago are gone; ids go up with time.
DELETE FROM direct_requests WHERE request_id IN (
    SELECT request_id FROM direct_requests ORDER BY request_id LIMIT :count) AND created_at <= :until
RETURNING request_id AS id;

-- name: known_log_folders
-- Those of these names that are a run or a direct request.
SELECT run_id AS id FROM runs WHERE run_id IN :names[text]
UNION ALL
SELECT request_id AS id FROM direct_requests WHERE request_id IN :names[text];

-- name: delete_old_reservations
-- Slots that were given back long ago are forgotten; ids go up with time.
DELETE FROM reservations WHERE reservation_id IN (
    SELECT reservation_id FROM reservations ORDER BY reservation_id LIMIT :count) AND ended_at <= :until
RETURNING reservation_id AS id;

-- name: delete_old_tokens
-- Tokens that had an end, and it was long ago.
DELETE FROM tokens WHERE token_id IN (SELECT token_id FROM tokens WHERE expires_at <= :until LIMIT :count)
RETURNING token_id AS id;

-- name: delete_old_audit
-- Entries of the audit log that are older than it is kept; ids are in the order of time.
DELETE FROM audit WHERE entry_id IN (SELECT entry_id FROM audit ORDER BY entry_id LIMIT :count) AND at <= :until
RETURNING entry_id AS id;

-- name: delete_old_events
-- History that belongs to no job.
DELETE FROM events WHERE seq IN (
    SELECT seq FROM events WHERE job_number IS NULL ORDER BY seq LIMIT :count) AND at <= :until
RETURNING seq AS id;

-- name: fires_from
-- Fires of schedules, from one on.
SELECT schedule_id, fire_time FROM fires
WHERE (schedule_id, fire_time) > (:schedule_id, :fire_time)
ORDER BY schedule_id, fire_time LIMIT :count;

-- name: delete_fire
-- A fire from long ago is forgotten.
DELETE FROM fires WHERE schedule_id = :schedule_id AND fire_time = :fire_time;

-- name: put_fact
-- Set a fact, also if it is set already.
INSERT INTO facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
