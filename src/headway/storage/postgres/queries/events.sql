-- name: insert_events
-- Events of one kind, in order: a JSON object of their data by job number.
INSERT INTO events (at, kind, job_number, data)
SELECT :at, :kind, CAST(nullif(key, '') AS bigint), value FROM json_each_text(CAST(:lines AS json));

-- name: event_writers
-- Transactions that may have taken numbers for events and have not ended.
SELECT virtualtransaction AS writer FROM pg_locks
WHERE locktype = 'relation' AND relation = CAST('events' AS regclass) AND mode = 'RowExclusiveLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
