-- name: hold_limits
-- Wait until nobody else takes from these limits. All go by name, so nobody waits in a circle.
SELECT name FROM limits WHERE name IN :names[text] ORDER BY name FOR NO KEY UPDATE;

-- name: lanes_naming_limit
-- Whether active jobs name a limit.
SELECT count(*) AS count FROM (
    SELECT 1 FROM jobs j JOIN lanes l USING (lane_id)
    WHERE j.finished_at IS NULL AND l.lane_id IN (
        SELECT lanes.lane_id FROM lanes, json_each(CAST(lanes.limits AS json)) u WHERE u.key = :name)
    LIMIT 1) one;
