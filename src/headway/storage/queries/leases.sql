-- name: grant_leases
-- Leases for jobs that have just been started. The run's id is the lease's too.
INSERT INTO leases (lease_id, job_number, lane_id, worker_id, ttl_ms, granted_at, expires_at, deadline)
SELECT run_id, number, lane_id, worker_id, :ttl_ms::bigint, started_at, :expires_at::bigint,
    :deadline::bigint
FROM jobs WHERE number IN :numbers[bigint];

-- name: end_leases
-- These leases, of one worker or of all, are over: one without a row was lost. Waits for the
-- row lock of a transaction that ends one of them too.
DELETE FROM leases WHERE lease_id IN :lease_ids[text]
AND worker_id = coalesce(:worker_id::text, worker_id)
RETURNING job_number, progress;

-- name: leases_by_id
-- Some live leases.
SELECT le.{leases}, j.cancel, j.job_id, l.cost_units FROM leases le JOIN jobs j ON j.number = le.job_number
JOIN lanes l ON l.lane_id = le.lane_id
WHERE le.lease_id IN :lease_ids[text];

-- name: ended_lease
-- A lease that is over, as its run remembers it.
SELECT r.run_id AS lease_id, j.job_id, r.worker_id, l.cost_units, r.ttl_ms, r.started_at AS granted_at,
    r.finished_at AS expires_at, r.lease_state
FROM runs r JOIN jobs j ON j.number = r.job_number JOIN lanes l USING (lane_id)
WHERE r.run_id = :lease_id AND r.lease_state IS NOT NULL;

-- name: expired_leases
-- Leases that were not renewed in time.
SELECT lease_id, job_number, worker_id, expires_at, deadline FROM leases
WHERE expires_at <= :now ORDER BY expires_at LIMIT :count;

-- name: next_lease_expiry
-- When the next lease expires.
SELECT (SELECT expires_at FROM leases ORDER BY expires_at LIMIT 1) AS at;

-- name: used_by_lane
-- How many live leases each lane has: what is used of every limit follows from it.
SELECT l.{lanes}, u.count FROM (SELECT lane_id, count(*) AS count FROM leases GROUP BY lane_id) u
JOIN lanes l USING (lane_id);

-- name: live_leases
-- Every live lease with its job and lane.
SELECT le.{leases}, j.job_id, j.started_at, l.queue, l.job_type, l.cost_units, l.requires, l.limits
FROM leases le JOIN jobs j ON j.number = le.job_number JOIN lanes l ON l.lane_id = le.lane_id
ORDER BY le.granted_at, le.lease_id;

-- name: leases_of_worker
-- The leases of a worker.
SELECT le.lease_id, le.job_number, j.job_id FROM leases le JOIN jobs j ON j.number = le.job_number
WHERE le.worker_id = :worker_id ORDER BY le.lease_id;

-- name: running_on_worker
-- What a worker runs.
SELECT job_number AS number FROM leases WHERE worker_id = :worker_id AND job_number > :after
ORDER BY job_number LIMIT :count;

-- name: leases_of_jobs
-- The live leases that a worker has of some jobs.
SELECT lease_id, job_number FROM leases WHERE worker_id = :worker_id AND job_number IN :numbers[bigint];

-- name: prolong_leases
-- After a restart, workers that live get at least one time-to-live to come back, but never more
-- than the job's own time-out.
UPDATE leases SET expires_at = greatest(expires_at, least(:now + ttl_ms, coalesce(deadline, :now + ttl_ms)))
WHERE worker_id NOT IN :except_workers[text];

-- name: next_reservation_expiry
-- When the active reservation ends by itself, or because the server that made it is silent.
SELECT min(CASE WHEN r.server IS NULL THEN r.expires_at
    ELSE least(r.expires_at, coalesce(w.last_seen, r.created_at) + :silence::bigint) END) AS at
FROM reservations r LEFT JOIN workers w ON w.worker_id = r.server WHERE r.state = 'ACTIVE';

-- name: move_deadlines
-- The clock was set: a run has as long as before. One that began since the last look may know the new time already.
UPDATE leases SET deadline = deadline + :shift::bigint
WHERE deadline IS NOT NULL AND NOT granted_at BETWEEN :looked AND :now;

-- name: renew_every_lease
-- The clock was set: each lease lasts one time-to-live from now, but not beyond its deadline.
UPDATE leases SET expires_at = least(:now::bigint + ttl_ms, coalesce(deadline, :now::bigint + ttl_ms));

-- name: renew_every_reservation
-- The clock was set: the slot stays reserved for one more term.
UPDATE reservations SET expires_at = :until WHERE state = 'ACTIVE';
