-- name: newest_before
-- The newest jobs before a number.
SELECT number FROM jobs WHERE number < :before ORDER BY number DESC LIMIT :count;

-- name: newest_of_tag
-- The newest jobs with a tag.
SELECT job_number AS number FROM tags WHERE tag = :tag AND job_number < :before
ORDER BY job_number DESC LIMIT :count;

-- name: newest_of_group
-- The newest jobs of a group. The sum keeps PostgreSQL from looking for them among all jobs.
SELECT number FROM jobs WHERE group_id = :group_id AND number < :before ORDER BY number + 0 DESC LIMIT :count;

-- name: newest_of_template
-- The newest jobs of a template.
SELECT number FROM jobs WHERE template_id = :template_id AND number < :before ORDER BY number DESC LIMIT :count;

-- name: newest_that_ended
-- The newest jobs that ended in a status.
SELECT number FROM jobs WHERE status = :status AND finished_at IS NOT NULL AND number < :before
ORDER BY number DESC LIMIT :count;

-- name: newest_active
-- The newest jobs that have not ended.
SELECT number FROM jobs WHERE finished_at IS NULL AND number < :before ORDER BY number DESC LIMIT :count;

-- name: newest_behind_a_gate
-- The newest jobs whose own gates keep them in a status.
SELECT number FROM jobs WHERE status = :status AND status <> 'QUEUED' AND phase = 0 AND number < :before
ORDER BY number DESC LIMIT :count;

-- name: newest_running
-- The newest jobs that run.
SELECT job_number AS number FROM leases WHERE job_number < :before ORDER BY job_number DESC LIMIT :count;

-- name: newest_suspended
-- The newest jobs whose programs wait.
SELECT number FROM jobs WHERE status = 'SUSPENDED' AND number < :before ORDER BY number DESC LIMIT :count;

-- name: newest_of_parent
-- The newest jobs that the handler of a job submitted.
SELECT number FROM jobs WHERE parent = :parent AND number < :before ORDER BY number DESC LIMIT :count;

-- name: newest_claimed
-- The newest jobs that a worker took and has not started.
SELECT number FROM jobs WHERE claim_expires_at IS NOT NULL AND number < :before ORDER BY number + 0 DESC LIMIT :count;

-- name: oldest_since
-- Jobs that were submitted at or after a moment, those first that came first.
SELECT number FROM jobs WHERE created_at >= :since ORDER BY created_at LIMIT :count;

-- name: any_since
-- Whether a job before a number was submitted at or after a moment. The plus keeps to the index of moments.
SELECT number FROM jobs WHERE created_at >= :since AND +number < :before LIMIT 1;

-- name: lanes_of
-- The lanes of a queue, of a job type, or of both.
SELECT lane_id FROM lanes WHERE queue = coalesce(:queue::text, queue) AND job_type = coalesce(:job_type::text, job_type);

-- name: lanes_by_newest
-- Those of these lanes whose newest job before a number is newest: one index seek for each.
SELECT lane_id, newest FROM (
    SELECT l.value AS lane_id, coalesce((SELECT number FROM jobs WHERE lane_id = l.value AND number < :before
        ORDER BY number DESC LIMIT 1), 0) AS newest FROM :lane_ids[bigint] l) found
WHERE newest > 0 ORDER BY newest DESC LIMIT :count;

-- name: newest_of_lanes
-- The newest jobs of each of some lanes, so many of each: one index seek for each job.
WITH RECURSIVE found (lane_id, number, place) AS (
    SELECT l.value, (SELECT number FROM jobs WHERE lane_id = l.value AND number < :before
        ORDER BY number DESC LIMIT 1), 1 FROM :lane_ids[bigint] l
    UNION ALL
    SELECT f.lane_id, (SELECT j.number FROM jobs j WHERE j.lane_id = f.lane_id AND j.number < f.number
        ORDER BY j.number DESC LIMIT 1), f.place + 1 FROM found f WHERE f.number IS NOT NULL AND f.place < :count
)
SELECT lane_id, number FROM found WHERE number IS NOT NULL;
