-- name: verify_job_without_lane
-- A job has its queue and its type from its lane.
SELECT j.number AS subject FROM jobs j LEFT JOIN lanes l ON l.lane_id = j.lane_id
WHERE l.lane_id IS NULL LIMIT :count;

-- name: verify_job_without_params
-- A job has params.
SELECT j.number AS subject FROM jobs j LEFT JOIN payloads p ON p.payload_id = j.payload_id
WHERE p.payload_id IS NULL LIMIT :count;

-- name: verify_job_without_group
-- The group of a member is there.
SELECT j.number AS subject FROM jobs j LEFT JOIN groups g ON g.group_id = j.group_id
WHERE j.group_id IS NOT NULL AND g.group_id IS NULL LIMIT :count;

-- name: verify_run_without_params
-- A run had params.
SELECT r.run_id AS subject FROM runs r LEFT JOIN payloads p ON p.payload_id = r.payload_id
WHERE p.payload_id IS NULL LIMIT :count;

-- name: verify_lane_wait_without_lane
-- What lanes waited on is of lanes that are there.
SELECT w.lane_id AS subject FROM lane_waits w LEFT JOIN lanes l ON l.lane_id = w.lane_id
WHERE l.lane_id IS NULL LIMIT :count;

-- name: verify_schedule_without_template
-- A schedule makes jobs from a template.
SELECT s.schedule_id AS subject FROM schedules s LEFT JOIN templates t ON t.template_id = s.template_id
WHERE t.template_id IS NULL LIMIT :count;

-- name: verify_running_without_lease
-- A running job has a lease.
SELECT number AS subject FROM jobs WHERE status = 'RUNNING' AND finished_at IS NULL
AND number NOT IN (SELECT job_number FROM leases) LIMIT :count;

-- name: verify_running_without_open_run
-- A running job has an open run, the one it names.
SELECT j.number AS subject FROM jobs j
LEFT JOIN runs r ON r.run_id = j.run_id AND r.job_number = j.number
WHERE j.status = 'RUNNING' AND j.finished_at IS NULL AND (r.run_id IS NULL OR r.status IS NOT NULL) LIMIT :count;

-- name: verify_lease_without_running_job
-- A lease belongs to a running job and its run.
SELECT le.lease_id AS subject FROM leases le LEFT JOIN jobs j ON j.number = le.job_number
WHERE j.number IS NULL OR j.status <> 'RUNNING' OR j.run_id <> le.lease_id LIMIT :count;

-- name: verify_open_run_without_running_job
-- An open run belongs to a running job.
SELECT r.run_id AS subject FROM runs r LEFT JOIN jobs j ON j.number = r.job_number
WHERE r.status IS NULL AND (j.number IS NULL OR j.status <> 'RUNNING') LIMIT :count;

-- name: verify_open_dependencies
-- The number of open dependencies is what the dependencies say.
SELECT j.number AS subject FROM jobs j
WHERE j.open_deps <> (SELECT count(*) FROM dependencies d WHERE d.job_number = j.number AND d.met = 0)
LIMIT :count;

-- name: verify_lock_without_running_job
-- Locks are held by running jobs only.
SELECT lo.key AS subject FROM locks lo LEFT JOIN jobs j ON j.number = lo.job_number
WHERE j.number IS NULL OR j.status <> 'RUNNING' LIMIT :count;

-- name: verify_conflicting_locks
-- An exclusive lock has one holder.
SELECT key AS subject FROM locks GROUP BY key
HAVING count(*) > 1 AND max(CASE mode WHEN 'exclusive' THEN 1 ELSE 0 END) = 1 LIMIT :count;

-- name: verify_claim_without_worker
-- A claimed job has a worker and a time at which the claim ends.
SELECT number AS subject FROM jobs WHERE finished_at IS NULL
AND status IN ('CLAIMED', 'PREPARING', 'LEASE_PENDING') AND (worker_id IS NULL OR claim_expires_at IS NULL)
LIMIT :count;

-- name: verify_two_active_links
-- At most one link of a chain is active.
SELECT chain AS subject FROM jobs WHERE finished_at IS NULL GROUP BY chain HAVING count(*) > 1 LIMIT :count;

-- name: verify_line_without_waiting
-- A job in the queue for a lock is ready, waits for locks or is claimed, as its row there says.
SELECT w.job_number AS subject FROM lock_waiters w LEFT JOIN jobs j ON j.number = w.job_number
WHERE j.number IS NULL OR j.priority <> w.priority OR j.position <> w.position
OR w.standing <> CASE WHEN j.status = 'QUEUED' THEN 0 WHEN j.status = 'WAITING_ON_LOCKS' THEN 1
    WHEN j.phase = 1 THEN 2 ELSE -1 END
LIMIT :count;

-- name: verify_waiting_without_line
-- A job that waits for locks is in the queue for one.
SELECT number AS subject FROM jobs WHERE status = 'WAITING_ON_LOCKS' AND finished_at IS NULL
AND number NOT IN (SELECT job_number FROM lock_waiters) LIMIT :count;

-- name: verify_ended_without_run
-- A job that ran has a run.
SELECT j.number AS subject FROM jobs j LEFT JOIN runs r ON r.run_id = j.run_id
WHERE j.finished_at IS NOT NULL AND j.run_id IS NOT NULL AND r.run_id IS NULL
AND j.status IN ('SUCCEEDED', 'FAILED', 'SKIPPED', 'TIMEOUT') LIMIT :count;

-- name: verify_ends
-- A job ended as its run did.
SELECT j.number AS subject FROM jobs j LEFT JOIN runs r ON r.run_id = j.run_id
WHERE j.finished_at IS NOT NULL AND (j.run_id IS NULL OR r.run_id IS NOT NULL)
AND j.status <> coalesce(CASE r.status
    WHEN 'COMPLETED' THEN 'SUCCEEDED' WHEN 'SKIPPED' THEN 'SKIPPED' WHEN 'FAILED' THEN 'FAILED' END, '')
AND NOT (j.status = 'TIMEOUT' AND coalesce(r.status, '') = 'FAILED')
AND j.status NOT IN ('CANCELLED', 'BLOCKED_BY_DEPENDENCY', 'BLOCKED_BY_APPROVAL') LIMIT :count;

-- name: verify_suspended_without_wait
-- A suspended job waits for one thing.
SELECT number AS subject FROM jobs j WHERE j.status = 'SUSPENDED' AND j.finished_at IS NULL AND 1 <> (
    SELECT count(*) FROM steps s WHERE s.chain = j.first_job AND s.generation = j.generation AND s.finished_at IS NULL)
LIMIT :count;

-- name: verify_wait_without_suspended
-- Only suspended jobs, and those that ended meanwhile, wait for what a journal says.
SELECT j.number AS subject FROM steps s JOIN jobs j ON j.first_job = s.chain AND j.generation = s.generation
WHERE s.finished_at IS NULL AND j.finished_at IS NULL AND j.status <> 'SUSPENDED' LIMIT :count;

-- name: verify_unread_journal
-- A job that is not over knows that it has a journal.
SELECT DISTINCT j.number AS subject FROM steps s JOIN jobs j ON j.first_job = s.chain AND j.generation = s.generation
WHERE j.finished_at IS NULL AND j.journal = 0 AND j.history = 0 LIMIT :count;
