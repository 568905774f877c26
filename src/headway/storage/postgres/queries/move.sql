-- name: last_event_number
-- The last number that an event ever got.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM events_seq_seq;

-- name: continue_event_numbers
-- In a table that never had an event, the next one gets the number after this.
SELECT setval('events_seq_seq', greatest(:seq, 1), :seq > 0);
