-- name: limits
-- Every limit that is defined.
SELECT name, size, rate FROM limits ORDER BY name;

-- name: put_limit
-- Define or change a limit.
INSERT INTO limits (name, size, rate) VALUES (:name, :size, :rate)
ON CONFLICT (name) DO UPDATE SET size = excluded.size, rate = excluded.rate;

-- name: remove_limit
-- A limit is no longer defined.
DELETE FROM limits WHERE name = :name;

-- name: insert_rate_use
-- A job started that counts against a rate.
INSERT INTO rate_uses (name, at, job_number, amount) VALUES (:name, :at, :job_number, :amount) ON CONFLICT DO NOTHING;

-- name: rate_used
-- What was started under a rate since a moment, and when the first of it was.
SELECT CAST(coalesce(sum(amount), 0) AS bigint) AS amount, min(at) AS first FROM rate_uses
WHERE name = :name AND at > :since;

-- name: rate_starts
-- The starts of jobs under a rate since a moment that used any of it, oldest first.
SELECT j.job_id, r.at, r.amount FROM rate_uses r JOIN jobs j ON j.number = r.job_number
WHERE r.name = :name AND r.at > :since AND r.amount > 0 ORDER BY r.at, r.job_number LIMIT :count;

-- name: anybody_limited
-- Whether a full limit keeps a job waiting.
SELECT 1 AS one FROM jobs WHERE limited_since IS NOT NULL LIMIT 1;

-- name: forget_rate_uses
-- What is older than its window counts no more.
DELETE FROM rate_uses WHERE name = :name AND at <= :until;

-- name: pauses
-- What is paused.
SELECT queue, job_type, since FROM pauses;

-- name: put_pause
-- Pause everything, a queue or a job type.
INSERT INTO pauses (queue, job_type, since) VALUES (:queue, :job_type, :since) ON CONFLICT DO NOTHING;

-- name: remove_pause
-- Lift one pause.
DELETE FROM pauses WHERE queue = :queue AND job_type = :job_type;

-- name: remove_pauses
-- Lift every pause.
DELETE FROM pauses;

-- name: forget_later_rate_uses
-- The clock was set back: what was used in the time to come fills no window.
DELETE FROM rate_uses WHERE at > :now;
