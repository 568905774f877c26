-- name: renew_lease
-- A heartbeat. One that was held up on its way takes no time from a later one.
UPDATE leases SET expires_at = greatest(leases.expires_at, r.expires_at), progress = coalesce(r.progress, leases.progress)
FROM json_to_recordset(CAST(:rows AS json)) AS r (lease_id text, expires_at bigint, progress text)
WHERE leases.lease_id = r.lease_id;
