-- name: last_event_number
-- The last number that an event ever got.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM events_seq_seq;

-- name: continue_event_numbers
-- In a table that never had an event, the next one gets the number after this.
SELECT setval('events_seq_seq', greatest(:seq, 1), :seq > 0);

-- name: last_numbers
-- The last job number, position and payload id that were ever taken.
SELECT 'job' AS name, CASE WHEN is_called THEN last_value ELSE 0 END AS value FROM job_numbers
UNION ALL SELECT 'position', CASE WHEN is_called THEN last_value ELSE 0 END FROM positions
UNION ALL SELECT 'payload', CASE WHEN is_called THEN last_value ELSE 0 END FROM payload_ids;

-- name: continue_numbers
-- Where nothing was ever taken, go on after this.
SELECT setval(CAST(CASE :name WHEN 'job' THEN 'job_numbers' WHEN 'position' THEN 'positions' ELSE 'payload_ids' END
    AS regclass), greatest(:value, 1), :value > 0);
