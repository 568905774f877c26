-- name: active_reservation
-- The reservation of the next slot.
SELECT {reservations} FROM reservations WHERE state = 'ACTIVE';

-- name: reservation_by_id
-- One reservation.
SELECT {reservations} FROM reservations WHERE reservation_id = :reservation_id;

-- name: insert_reservation
-- Reserve the next slot.
INSERT INTO reservations (reservation_id, reserved_by, server, state, created_at, expires_at)
VALUES (:reservation_id, :reserved_by, :server, 'ACTIVE', :created_at, :expires_at);

-- name: run_reservation
-- The direct request has its slot: the queue may use the others.
UPDATE reservations SET running = 1 WHERE reservation_id = :reservation_id AND state = 'ACTIVE';

-- name: renew_reservation
-- Renew a reservation.
UPDATE reservations SET expires_at = :expires_at WHERE reservation_id = :reservation_id AND state = 'ACTIVE';

-- name: end_reservation
-- The slot is free again.
UPDATE reservations SET state = :state, ended_at = :ended_at
WHERE reservation_id = :reservation_id AND state = 'ACTIVE';

-- name: expire_reservations
-- Reservations that were not renewed in time expire, and so do those of a server that is silent for too long.
UPDATE reservations SET state = 'EXPIRED', ended_at = :now WHERE state = 'ACTIVE' AND (
    expires_at <= :now OR (server IS NOT NULL AND :now::bigint - :silence::bigint >= coalesce(
        (SELECT last_seen FROM workers WHERE worker_id = server), created_at)));

-- name: active_reservations_elsewhere
-- Slots that are held for servers other than these.
SELECT reservation_id FROM reservations WHERE state = 'ACTIVE'
AND (server IS NULL OR server NOT IN :servers[text]);

-- name: reservations
-- Reservations, newest first. The letter g sorts after every id.
SELECT {reservations} FROM reservations WHERE reservation_id < coalesce(:before, 'g') ORDER BY reservation_id DESC LIMIT :count;

-- name: insert_direct_request
-- The audit record of a direct request, once.
INSERT INTO direct_requests (request_id, job_type, status, error, waited_ms, duration_ms, created_at)
VALUES (:request_id, :job_type, :status, :error, :waited_ms, :duration_ms, :created_at)
ON CONFLICT DO NOTHING;
