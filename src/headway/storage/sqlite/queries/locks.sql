-- name: open_lines
-- Queues for locks in which a job waits although no holder excludes it: one index seek for each.
WITH RECURSIVE lines (key, mode, lane_id) AS (
    SELECT k.value, m.value, (SELECT min(lane_id) FROM lock_waiters
        WHERE key = k.value AND mode = m.value AND standing = 1)
    FROM :keys[text] k, json_each('["exclusive", "shared"]') m
    WHERE NOT EXISTS (SELECT 1 FROM locks l
        WHERE l.key = k.value AND (l.mode = 'exclusive' OR m.value = 'exclusive'))
    UNION ALL
    SELECT key, mode, (SELECT min(w.lane_id) FROM lock_waiters w WHERE w.key = lines.key
        AND w.mode = lines.mode AND w.standing = 1 AND w.lane_id > lines.lane_id)
    FROM lines WHERE lines.lane_id IS NOT NULL
)
SELECT key, mode, lane_id FROM lines WHERE lane_id IS NOT NULL;

-- name: ready_lines
-- Lines in which jobs are ready to take a lock: one index seek for each.
WITH RECURSIVE lines (key, mode, lane_id) AS (
    SELECT k.value, m.value, (SELECT min(lane_id) FROM lock_waiters
        WHERE key = k.value AND mode = m.value AND standing = 0)
    FROM :keys[text] k, json_each('["exclusive", "shared"]') m
    UNION ALL
    SELECT key, mode, (SELECT min(w.lane_id) FROM lock_waiters w WHERE w.key = lines.key
        AND w.mode = lines.mode AND w.standing = 0 AND w.lane_id > lines.lane_id)
    FROM lines WHERE lines.lane_id IS NOT NULL
)
SELECT key, mode, lane_id FROM lines WHERE lane_id IS NOT NULL;

-- name: heads_of_line
-- The first of a queue in one lane; of waiting jobs, the first for which every other lock is free too.
SELECT w.job_number, w.priority, w.position FROM lock_waiters w
WHERE w.key = :key AND w.mode = :mode AND w.standing = :standing AND w.lane_id = :lane_id
AND w.job_number NOT IN :tried[bigint]
AND (w.standing = 0 OR NOT EXISTS (
    SELECT 1 FROM lock_waiters o JOIN locks l ON l.key = o.key WHERE o.job_number = w.job_number
    AND (l.mode = 'exclusive' OR o.mode = 'exclusive')))
ORDER BY w.priority DESC, w.position, w.job_number LIMIT :count;

-- name: first_exclusives
-- For some locks and each lane, of the jobs that want them alone: the first, the first that a held
-- lock keeps waiting, and the first that shares another lock, which a waiting job may keep from it.
WITH RECURSIVE lines (key, standing, lane_id) AS (
    SELECT k.value, s.value, (SELECT min(lane_id) FROM lock_waiters
        WHERE key = k.value AND mode = 'exclusive' AND standing = s.value)
    FROM :keys[text] k, json_each('[0, 1, 2]') s
    UNION ALL
    SELECT key, standing, (SELECT min(w.lane_id) FROM lock_waiters w WHERE w.key = lines.key
        AND w.mode = 'exclusive' AND w.standing = lines.standing AND w.lane_id > lines.lane_id)
    FROM lines WHERE lines.lane_id IS NOT NULL
)
SELECT DISTINCT w.key, w.standing, w.lane_id, w.job_number, w.priority, w.position, j.job_id, j.wait_kind
FROM lines JOIN lock_waiters w ON w.key = lines.key AND w.job_number IN (
    (SELECT v.job_number FROM lock_waiters v
        WHERE v.key = lines.key AND v.mode = 'exclusive' AND v.standing = lines.standing
        AND v.lane_id = lines.lane_id ORDER BY v.priority DESC, v.position, v.job_number LIMIT 1),
    (SELECT f.job_number FROM (
            SELECT v.job_number, v.priority, v.position FROM lock_waiters v
            WHERE v.key = lines.key AND v.mode = 'exclusive' AND v.standing = lines.standing
            AND v.lane_id = lines.lane_id ORDER BY v.priority DESC, v.position, v.job_number LIMIT :most) f
        WHERE EXISTS (SELECT 1 FROM lock_waiters o JOIN locks l ON l.key = o.key
            WHERE o.job_number = f.job_number AND (l.mode = 'exclusive' OR o.mode = 'exclusive'))
        OR EXISTS (SELECT 1 FROM jobs d WHERE d.number = f.job_number AND d.wait_kind = 'locks'
            AND lines.standing = 2)
        ORDER BY f.priority DESC, f.position, f.job_number LIMIT 1),
    (SELECT f.job_number FROM (
            SELECT v.job_number, v.priority, v.position FROM lock_waiters v
            WHERE v.key = lines.key AND v.mode = 'exclusive' AND v.standing = lines.standing
            AND v.lane_id = lines.lane_id ORDER BY v.priority DESC, v.position, v.job_number LIMIT :most) f
        WHERE EXISTS (SELECT 1 FROM lock_waiters o WHERE o.job_number = f.job_number AND o.mode = 'shared')
        ORDER BY f.priority DESC, f.position, f.job_number LIMIT 1))
JOIN jobs j ON j.number = w.job_number;
