-- name: events_after
-- The events after one.
SELECT e.seq, e.at, e.kind, e.job_number, e.data, j.job_id FROM events e LEFT JOIN jobs j ON j.number = e.job_number
WHERE e.seq > :seq ORDER BY e.seq LIMIT :count;

-- name: events_of_job
-- A job's timeline.
SELECT e.seq, e.at, e.kind, e.job_number, e.data, j.job_id FROM events e JOIN jobs j ON j.number = e.job_number
WHERE e.job_number = :number AND e.seq > :seq ORDER BY e.seq LIMIT :count;

-- name: event_bounds
-- The numbers of the first and the last event.
SELECT coalesce(min(seq), 0) AS first, coalesce(max(seq), 0) AS last FROM events;

-- name: last_event_numbers
-- The numbers of the last events, the newest first.
SELECT seq FROM events ORDER BY seq DESC LIMIT :count;

-- name: last_event
-- When the last thing happened.
SELECT seq, at FROM events ORDER BY seq DESC LIMIT 1;

-- name: latest_moment
-- The latest moment of the last events after a number: those before a clock was set back are later.
SELECT max(at) AS at FROM (SELECT at FROM events WHERE seq > :after ORDER BY seq DESC LIMIT :count) AS last_lines;

-- name: first_moment_since
-- When the first event happened after the last one that lies ahead, among the last events after a number.
SELECT (SELECT at FROM events WHERE seq > coalesce((SELECT max(seq) FROM (
    SELECT seq, at FROM events WHERE seq > :after ORDER BY seq DESC LIMIT :count) AS last_lines
    WHERE at > :now), :after::bigint) ORDER BY seq LIMIT 1) AS at;
