-- name: insert_events
-- Lines of history of one kind, in order: a JSON object of what there is to say by job number.
INSERT INTO events (at, kind, job_number, data)
SELECT :at, :kind, CAST(nullif(key, '') AS INTEGER), value FROM json_each(:lines);

-- name: event_writers
-- Nobody: whatever has a number is there.
SELECT NULL AS writer WHERE 0;
