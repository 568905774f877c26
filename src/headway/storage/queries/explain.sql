-- name: places_in_queue
-- The rank of some jobs among all that wait, counted up to a bound.
SELECT number, place FROM (
    SELECT number, row_number() OVER (ORDER BY priority DESC, position, number) AS place FROM (
        SELECT number, priority, position FROM jobs
        WHERE phase = 0
        ORDER BY priority DESC, position, number LIMIT :bound) first_ones) placed
WHERE number IN :numbers[bigint];

-- name: job_at_place
-- The job at a place of the queue, counted from 0.
SELECT number, priority, position FROM jobs
WHERE phase = 0
AND number <> :except
ORDER BY priority DESC, position, number LIMIT 1 OFFSET :skip;

-- name: queue_after
-- A stretch of the queue in dispatch order, after a place, with the sizes of what the jobs say: the rest of a
-- priority, then those below it. Asked for in one, all jobs of the priority before the place would be read.
SELECT number, size FROM (
    SELECT * FROM (
        SELECT number, length(terms) AS size, priority, position FROM jobs
        WHERE phase = 0 AND priority = :priority AND position >= :position
        AND (position > :position OR number > :number)
        ORDER BY position, number LIMIT :count) same
    UNION ALL
    SELECT * FROM (
        SELECT number, length(terms) AS size, priority, position FROM jobs
        WHERE phase = 0 AND priority < :priority
        ORDER BY priority DESC, position, number LIMIT :count) lower
) found ORDER BY priority DESC, position, number LIMIT :count;

-- name: shown_numbers
-- The jobs that the graph shows unless all are wanted: what is active, and what is blocked.
SELECT number, size FROM (
    SELECT * FROM (SELECT number, length(terms) AS size FROM jobs WHERE finished_at IS NULL
        ORDER BY number DESC LIMIT :count) active
    UNION ALL
    SELECT * FROM (SELECT number, length(terms) AS size FROM jobs
        WHERE finished_at IS NOT NULL AND status = 'BLOCKED_BY_DEPENDENCY'
        ORDER BY number DESC LIMIT :count) behind_jobs
    UNION ALL
    SELECT * FROM (SELECT number, length(terms) AS size FROM jobs
        WHERE finished_at IS NOT NULL AND status = 'BLOCKED_BY_APPROVAL'
        ORDER BY number DESC LIMIT :count) rejected
) found ORDER BY number DESC LIMIT :count;

-- name: newest_numbers
-- The newest jobs, whatever became of them.
SELECT number, length(terms) AS size FROM jobs ORDER BY number DESC LIMIT :count;

-- name: marker
-- One marker, with the job that made it.
SELECT m.artifact, m.created_at, m.job_number, j.job_id FROM markers m
LEFT JOIN jobs j ON j.number = m.job_number WHERE m.artifact = :artifact;

-- name: markers_after
-- Markers by name, with the jobs that made them.
SELECT m.artifact, m.created_at, m.job_number, j.job_id FROM markers m
LEFT JOIN jobs j ON j.number = m.job_number
WHERE m.artifact > :after ORDER BY m.artifact LIMIT :count;
