-- name: newest_before
-- The newest jobs before a number.
SELECT number FROM jobs WHERE number < :before ORDER BY number DESC LIMIT :count;

-- name: newest_of_tag
-- The newest jobs with a tag.
SELECT job_number AS number FROM tags WHERE tag = :tag AND job_number < :before
ORDER BY job_number DESC LIMIT :count;

-- name: newest_of_name
-- The newest jobs with a name.
SELECT job_number AS number FROM job_names WHERE name = :name AND job_number < :before
ORDER BY job_number DESC LIMIT :count;

-- name: words_from
-- The words of jobs that begin in the same way, each once: one index seek for each word.
WITH RECURSIVE found (word) AS (
    SELECT (SELECT word FROM job_words WHERE word >= :first AND word < :last ORDER BY word LIMIT 1)
    UNION ALL
    SELECT (SELECT w.word FROM job_words w WHERE w.word > f.word AND w.word < :last ORDER BY w.word LIMIT 1)
    FROM found f WHERE f.word IS NOT NULL
)
SELECT word FROM found WHERE word IS NOT NULL LIMIT :count;

-- name: newest_of_words
-- The newest jobs with each of some words, so many of each: one index seek for each job.
WITH RECURSIVE found (word, number, place) AS (
    SELECT w.value, (SELECT job_number FROM job_words WHERE word = w.value AND job_number < :before
        ORDER BY job_number DESC LIMIT 1), 1 FROM :words[text] w
    UNION ALL
    SELECT f.word, (SELECT j.job_number FROM job_words j WHERE j.word = f.word AND j.job_number < f.number
        ORDER BY j.job_number DESC LIMIT 1), f.place + 1 FROM found f WHERE f.number IS NOT NULL AND f.place < :count
)
SELECT word, number FROM found WHERE number IS NOT NULL;

-- name: newest_of_ids
-- Jobs whose ids are between two, so many at most. The plus keeps to the index of ids.
SELECT number FROM jobs WHERE job_id BETWEEN :first AND :last AND +number < :before
ORDER BY job_id DESC LIMIT :count;

-- name: job_types
-- Every job type there ever was.
SELECT DISTINCT job_type FROM lanes;

-- name: lanes_of_types
-- The lanes of some job types.
SELECT lane_id FROM lanes WHERE job_type IN :job_types[text];

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
-- Jobs that were submitted from one moment on and before another, those first that came first.
SELECT number FROM jobs WHERE created_at >= :since AND created_at < :until ORDER BY created_at LIMIT :count;

-- name: newest_until
-- The highest number among the last jobs that were submitted before a moment.
SELECT coalesce(max(number), 0) AS number FROM (
    SELECT number FROM jobs WHERE created_at < :until ORDER BY created_at DESC LIMIT :count) found;

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
