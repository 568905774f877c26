-- name: verify_numbers
-- The next number is one that was never used.
SELECT name AS subject FROM (
    SELECT 'job' AS name, CASE WHEN is_called THEN last_value ELSE 0 END AS value FROM job_numbers
    UNION ALL SELECT 'payload', CASE WHEN is_called THEN last_value ELSE 0 END FROM payload_ids
) numbers
WHERE value < CASE name WHEN 'job' THEN (SELECT coalesce(max(number), 0) FROM jobs)
    WHEN 'payload' THEN (SELECT coalesce(max(payload_id), 0) FROM payloads) ELSE 0 END
LIMIT :count;
