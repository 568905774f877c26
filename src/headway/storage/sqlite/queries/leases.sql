-- name: renew_lease
-- A heartbeat. One that was held up on its way takes no time from a later one.
UPDATE leases SET expires_at = max(expires_at, :expires_at), progress = coalesce(:progress, progress) WHERE lease_id = :lease_id;
