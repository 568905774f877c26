-- name: last_event_number
-- The last number that an event ever got.
SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'events';

-- name: continue_event_numbers
-- In a table that never had an event, the next one gets the number after this.
INSERT INTO sqlite_sequence (name, seq)
SELECT 'events', :seq WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events');

-- name: last_numbers
-- The last job number, position and payload id that were ever taken.
SELECT name, value FROM counters;

-- name: continue_numbers
-- Where nothing was ever taken, go on after this.
UPDATE counters SET value = :value WHERE name = :name;
