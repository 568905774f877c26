-- name: take_lock
-- A running job holds a lock.
INSERT INTO locks (key, job_number, mode, since) VALUES (:key, :job_number, :mode, :since);

-- name: free_locks
-- Jobs that ended hold nothing any more.
DELETE FROM locks WHERE job_number = ANY (CAST(:numbers AS bigint[])) RETURNING key;

-- name: holders
-- Who holds some locks.
SELECT lo.key, lo.mode, lo.since, lo.job_number, j.job_id FROM locks lo JOIN jobs j ON j.number = lo.job_number
WHERE lo.key = ANY (CAST(:keys AS text[])) ORDER BY lo.key, lo.since;

-- name: all_locks
-- Every lock that is held.
SELECT lo.key, lo.mode, lo.since, lo.job_number, j.job_id FROM locks lo JOIN jobs j ON j.number = lo.job_number
ORDER BY lo.key, lo.since;

-- name: wait_for_lock
-- A job waits for a lock.
INSERT INTO lock_waiters (key, job_number, mode, lane_id, priority, position)
VALUES (:key, :job_number, :mode, :lane_id, :priority, :position)
ON CONFLICT (key, job_number) DO UPDATE SET priority = excluded.priority, position = excluded.position;

-- name: stop_waiting_for_locks
-- Some jobs wait for no lock any more.
DELETE FROM lock_waiters WHERE job_number = ANY (CAST(:numbers AS bigint[]));

-- name: first_waiters
-- Who stands first for some locks, in each lane and mode: these may try when the lock comes free.
WITH RECURSIVE spots (key, mode, lane_id) AS (
    SELECT k.value, m.value,
        (SELECT lane_id FROM lock_waiters WHERE key = k.value AND mode = m.value
            ORDER BY lane_id LIMIT 1)
    FROM unnest(CAST(:keys AS text[])) k (value), (VALUES ('exclusive'), ('shared')) m (value)
    UNION ALL
    SELECT key, mode, (SELECT lane_id FROM lock_waiters w
        WHERE w.key = spots.key AND w.mode = spots.mode AND w.lane_id > spots.lane_id
        ORDER BY lane_id LIMIT 1)
    FROM spots WHERE spots.lane_id IS NOT NULL
)
SELECT key, mode, lane_id, (
    SELECT w.job_number FROM lock_waiters w
    WHERE w.key = spots.key AND w.mode = spots.mode AND w.lane_id = spots.lane_id
    ORDER BY w.priority DESC, w.position, w.job_number LIMIT 1) AS job_number
FROM spots WHERE lane_id IS NOT NULL;

-- name: first_exclusive_waiter
-- For some locks, the exclusive waiter that stands first in the whole queue.
SELECT k.value AS key, w.job_number, w.priority, w.position, j.job_id
FROM unnest(CAST(:keys AS text[])) k (value)
JOIN lock_waiters w ON w.key = k.value AND w.job_number = (
    SELECT v.job_number FROM lock_waiters v WHERE v.key = k.value AND v.mode = 'exclusive'
    ORDER BY v.priority DESC, v.position, v.job_number LIMIT 1)
JOIN jobs j ON j.number = w.job_number;

-- name: shared_waiters
-- Some of those who wait for a lock in shared mode, in order.
SELECT job_number FROM lock_waiters WHERE key = ANY (CAST(:keys AS text[])) AND mode = 'shared'
ORDER BY priority DESC, position, job_number LIMIT :count;

-- name: count_lock_waiters
-- How many jobs wait for each lock.
SELECT key, count(*) AS count FROM lock_waiters GROUP BY key;

-- name: free_locks_with_waiters
-- Locks that jobs wait for although nobody holds them: one index seek for each lock.
WITH RECURSIVE found (key) AS (
    SELECT (SELECT key FROM lock_waiters ORDER BY key LIMIT 1)
    UNION ALL
    SELECT (SELECT key FROM lock_waiters WHERE key > found.key ORDER BY key LIMIT 1)
    FROM found WHERE found.key IS NOT NULL
)
SELECT key FROM found WHERE key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM locks WHERE locks.key = found.key);

-- name: some_waiters
-- Some of those who wait for these locks.
SELECT DISTINCT job_number FROM lock_waiters WHERE key = ANY(CAST(:keys AS text[])) LIMIT :count;
