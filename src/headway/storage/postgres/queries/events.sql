-- name: insert_events
-- Lines of history of one kind, in order: a JSON object of what there is to say by job number.
INSERT INTO events (at, kind, job_number, data)
SELECT :at, :kind, CAST(nullif(key, '') AS bigint), value FROM json_each_text(CAST(:lines AS json));

-- name: event_writers
-- Transactions that may have taken numbers for lines of history and have not ended.
SELECT virtualtransaction AS writer FROM pg_locks
WHERE locktype = 'relation' AND relation = CAST('events' AS regclass) AND mode = 'RowExclusiveLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
