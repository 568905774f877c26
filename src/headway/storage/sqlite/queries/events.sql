-- name: insert_events
-- Events of one kind, in order: a JSON object of their data by job number.
INSERT INTO events (at, kind, job_number, data)
SELECT :at, :kind, CAST(nullif(key, '') AS INTEGER), value FROM json_each(:lines);

-- name: event_writers
-- None: with one writer, every event that has a number is committed.
SELECT NULL AS writer WHERE 0;
