-- name: verify_numbers
-- The next number is one that was never used.
SELECT name AS subject FROM counters
WHERE value < CASE name WHEN 'job' THEN (SELECT coalesce(max(number), 0) FROM jobs)
    WHEN 'payload' THEN (SELECT coalesce(max(payload_id), 0) FROM payloads) ELSE 0 END
LIMIT :count;
