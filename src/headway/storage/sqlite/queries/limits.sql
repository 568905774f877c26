-- name: hold_limits
-- SQLite has one writer, so no row needs a lock.
SELECT name FROM limits WHERE name IN :names[text] ORDER BY name;

-- name: lanes_naming_limit
-- Whether active jobs name a limit. The sum keeps to the index of active jobs.
SELECT count(*) AS count FROM (
    SELECT 1 FROM jobs j JOIN lanes l ON l.lane_id = j.lane_id + 0
    WHERE j.finished_at IS NULL AND l.lane_id IN (
        SELECT lanes.lane_id FROM lanes, json_each(lanes.limits) u WHERE u.key = :name) LIMIT 1);
