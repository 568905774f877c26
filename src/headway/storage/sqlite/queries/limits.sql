-- name: hold_limits
-- SQLite has one writer, so no row needs a lock.
SELECT name FROM limits WHERE name IN :names[text] ORDER BY name;

-- name: lanes_naming_limit
-- Whether active jobs name a limit, or one with this prefix, unless that is empty. The sum keeps to the index of active jobs.
SELECT count(*) AS count FROM (
    SELECT 1 FROM jobs j JOIN lanes l ON l.lane_id = j.lane_id + 0
    WHERE j.finished_at IS NULL AND l.lane_id IN (
        SELECT lanes.lane_id FROM lanes, json_each(lanes.limits) u WHERE u.key = :name
            OR (:prefix <> '' AND substr(u.key, 1, length(:prefix)) = :prefix)) LIMIT 1);
