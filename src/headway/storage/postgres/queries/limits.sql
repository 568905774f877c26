-- name: hold_limits
-- Lock the rows of these limits. All transactions lock them in the order of their names, so none deadlock.
SELECT name FROM limits WHERE name IN :names[text] ORDER BY name FOR NO KEY UPDATE;

-- name: lanes_naming_limit
-- Whether active jobs name a limit, or one with this prefix, unless that is empty. The sum keeps to the index of active jobs.
SELECT count(*) AS count FROM (
    SELECT 1 FROM jobs j JOIN lanes l ON l.lane_id = j.lane_id + 0
    WHERE j.finished_at IS NULL AND l.lane_id IN (
        SELECT lanes.lane_id FROM lanes, json_each(CAST(lanes.limits AS json)) u WHERE u.key = :name
            OR (:prefix::text <> '' AND substr(u.key, 1, length(:prefix::text)) = :prefix::text))
    LIMIT 1) one;
