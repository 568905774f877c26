-- name: hold_limits
-- Nobody else takes from these limits.
SELECT name FROM limits WHERE name IN :names[text] ORDER BY name;

-- name: lanes_naming_limit
-- Whether active jobs name a limit.
SELECT count(*) AS count FROM (
    SELECT 1 FROM jobs j JOIN lanes l USING (lane_id)
    WHERE j.finished_at IS NULL AND l.lane_id IN (
        SELECT lanes.lane_id FROM lanes, json_each(lanes.limits) u WHERE u.key = :name) LIMIT 1);
