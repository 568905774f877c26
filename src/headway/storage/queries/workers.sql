-- name: see_worker
-- A worker registers; its token never changes. A new process is not drained any more.
INSERT INTO workers (worker_id, token_id, host, pid, process_started, built_in, abilities, slots, first_seen, last_seen,
    data_id, data, url)
VALUES (:worker_id, :token_id, :host, :pid, :process_started, :built_in, :abilities, :slots, :now, :now,
    :data_id, :data, :url)
ON CONFLICT (worker_id) DO UPDATE SET host = excluded.host, pid = excluded.pid,
    process_started = excluded.process_started, abilities = excluded.abilities, slots = excluded.slots,
    last_seen = excluded.last_seen, left_at = NULL,
    draining_since = CASE WHEN workers.left_at IS NULL AND workers.host = excluded.host
        AND workers.pid = excluded.pid AND workers.process_started = excluded.process_started
        THEN workers.draining_since END;

-- name: servers_of_data
-- The servers that have used a data directory, the newest first.
SELECT {workers} FROM workers WHERE built_in = 1 AND data_id = :data_id ORDER BY last_seen DESC;

-- name: owner_of_worker
-- The token that used a worker first.
SELECT token_id FROM workers WHERE worker_id = :worker_id;

-- name: worker_standing
-- When a worker was heard of last, and what it takes.
SELECT last_seen, abilities FROM workers WHERE worker_id = :worker_id AND left_at IS NULL;

-- name: touch_worker
-- A worker was heard of.
UPDATE workers SET last_seen = :now WHERE worker_id = :worker_id;

-- name: workers
-- Every worker that is known and has not left.
SELECT {workers} FROM workers WHERE left_at IS NULL ORDER BY worker_id;

-- name: leave_worker
-- A worker has gone; its name stays that of its token.
UPDATE workers SET left_at = :now, abilities = '{}' WHERE worker_id = :worker_id;

-- name: remove_worker
-- A worker is forgotten, and its name is free.
DELETE FROM workers WHERE worker_id = :worker_id;

-- name: drain_worker
-- A worker takes no more jobs, or takes some again.
UPDATE workers SET draining_since = :since WHERE worker_id = :worker_id AND left_at IS NULL;

-- name: workers_of_token
-- How many workers of a token are there.
SELECT count(*) AS count FROM workers WHERE token_id = :token_id AND left_at IS NULL;

-- name: leave_silent_workers
-- Workers of a token that were not heard of since a moment and hold nothing are not there any more.
UPDATE workers SET left_at = :now, abilities = '{}'
WHERE token_id = :token_id AND left_at IS NULL AND last_seen <= :until
AND worker_id NOT IN (SELECT worker_id FROM leases);

-- name: draining_workers
-- Workers that take no more jobs.
SELECT worker_id FROM workers WHERE draining_since IS NOT NULL;

-- name: delete_silent_workers
-- Workers elsewhere that were not heard of since a moment and hold nothing: they never said goodbye.
DELETE FROM workers WHERE worker_id IN (
    SELECT worker_id FROM workers WHERE (built_in = 0 OR left_at IS NOT NULL) AND last_seen <= :until
        AND worker_id NOT IN (SELECT worker_id FROM leases) LIMIT :count)
RETURNING worker_id AS id;

-- name: held_by_worker
-- Which jobs each worker holds, and since when if it runs them. With a join, SQLite reads every job there ever was.
SELECT worker_id, (SELECT job_id FROM jobs WHERE number = job_number) AS job_id, granted_at AS since FROM leases
UNION ALL
SELECT worker_id, job_id, NULL AS since FROM jobs WHERE claim_expires_at IS NOT NULL;
