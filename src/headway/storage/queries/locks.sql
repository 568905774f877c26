-- name: take_lock
-- A running job holds a lock.
INSERT INTO locks (key, job_number, mode, since) VALUES (:key, :job_number, :mode, :since);

-- name: free_locks
-- Jobs that ended hold nothing any more.
DELETE FROM locks WHERE job_number IN :numbers[bigint];

-- name: holders
-- The holders of some locks.
SELECT lo.key, lo.mode, lo.since, lo.job_number, j.job_id FROM locks lo JOIN jobs j ON j.number = lo.job_number
WHERE lo.key IN :keys[text] ORDER BY lo.key, lo.since;

-- name: all_locks
-- Every lock that is held.
SELECT lo.key, lo.mode, lo.since, lo.job_number, j.job_id FROM locks lo JOIN jobs j ON j.number = lo.job_number
ORDER BY lo.key, lo.since;

-- name: stand_in_line
-- Queue a job for a lock: 0 ready to start, 1 waits for locks, 2 claimed.
INSERT INTO lock_waiters (key, job_number, mode, standing, lane_id, priority, position)
VALUES (:key, :job_number, :mode, :standing, :lane_id, :priority, :position)
ON CONFLICT (key, job_number) DO UPDATE SET standing = excluded.standing, priority = excluded.priority,
    position = excluded.position;

-- name: claim_in_line
-- A worker has taken some jobs; they keep their places until they start.
UPDATE lock_waiters SET standing = 2 WHERE job_number IN :numbers[bigint];

-- name: leave_lines
-- Some jobs want no lock any more.
DELETE FROM lock_waiters WHERE job_number IN :numbers[bigint];

-- name: locks_with_lines
-- Every lock that a job waits for or is about to take: one index seek for each.
WITH RECURSIVE found (key) AS (
    SELECT (SELECT key FROM lock_waiters ORDER BY key LIMIT 1)
    UNION ALL
    SELECT (SELECT key FROM lock_waiters WHERE key > found.key ORDER BY key LIMIT 1)
    FROM found WHERE found.key IS NOT NULL
)
SELECT key FROM found WHERE key IS NOT NULL;

-- name: exclusives_in_line
-- Jobs that want some locks alone, in the order of the queue, up to a bound.
SELECT w.key, w.standing, w.lane_id, w.job_number, w.priority, w.position, j.job_id, j.wait_kind
FROM lock_waiters w JOIN jobs j ON j.number = w.job_number
WHERE w.key IN :keys[text] AND w.mode = 'exclusive'
ORDER BY w.priority DESC, w.position, w.job_number LIMIT :most;

-- name: locks_in_line
-- The locks that some jobs are queued for.
SELECT job_number, key, mode FROM lock_waiters WHERE job_number IN :numbers[bigint];

-- name: count_lock_waiters
-- How many jobs wait for each lock.
SELECT w.key, count(*) AS count FROM lock_waiters w WHERE w.standing = 1 OR EXISTS (
    SELECT 1 FROM locks l WHERE l.key = w.key AND (l.mode = 'exclusive' OR w.mode = 'exclusive'))
GROUP BY w.key;
