-- name: journals
-- What some jobs have done and waited for, in order.
SELECT j.number, s.kind, s.name, s.step_index, s.attempt, s.run_id, s.started_at, s.finished_at, s.timed_out,
    s.size, s.result FROM jobs j
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation
WHERE j.number IN :numbers[bigint] ORDER BY j.number, s.place;

-- name: journal_sizes
-- How large the journals of some jobs are, and how many children they name.
SELECT j.number, CAST(sum(s.size) AS bigint) AS size,
    CAST(sum(CASE WHEN s.kind = 'children' THEN 1 ELSE 0 END) AS bigint) AS waits_for_children FROM jobs j
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation
WHERE j.number IN :numbers[bigint] GROUP BY j.number;

-- name: pending_waits
-- What some suspended jobs wait for.
SELECT j.number, s.kind, s.name, s.step_index FROM jobs j
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.finished_at IS NULL
WHERE j.number IN :numbers[bigint] AND j.status = 'SUSPENDED';

-- name: has_journal
-- These jobs have a journal from now on.
UPDATE jobs SET journal = 1 WHERE number IN :numbers[bigint] AND journal = 0;

-- name: end_waits
-- What these jobs waited for has come, or its time is over.
UPDATE steps SET finished_at = :finished_at, timed_out = :timed_out, result = coalesce(:result::text, result),
    size = coalesce(:size::bigint, size)
WHERE finished_at IS NULL AND (chain, generation) IN (
    SELECT first_job, generation FROM jobs WHERE number IN :numbers[bigint]);

-- name: copy_steps
-- What a job did before one of its steps is also in the journal of its next generation.
INSERT INTO steps (chain, generation, kind, name, step_index, place, attempt, run_id, started_at, finished_at,
    timed_out, size, result)
SELECT chain, generation + 1, kind, name, step_index, place, attempt, run_id, started_at, finished_at,
    timed_out, size, result
FROM steps WHERE chain = :chain AND generation = :generation AND place < :place AND finished_at IS NOT NULL;

-- name: place_of_step
-- Where a step stands in a journal.
SELECT place FROM steps WHERE chain = :chain AND generation = :generation AND name = :name AND step_index = :step_index
ORDER BY CASE WHEN kind = 'step' THEN 0 ELSE 1 END, place LIMIT 1;

-- name: suspend_job
-- A job gave its slot back to wait.
UPDATE jobs SET status = 'SUSPENDED', journal = 1, due_at = :due_at, delayed = :delayed, wait_kind = :wait_kind,
    wait_detail = :wait_detail, waited_on = :waited_on, open_deps = open_deps + :open_deps,
    progress = coalesce(:progress::text, progress), worker_id = NULL, limited_since = NULL
WHERE number = :number;

-- name: raise_open_deps
-- A suspended job waits for a child again.
UPDATE jobs SET open_deps = open_deps + 1 WHERE number = :number;

-- name: awaited_children
-- The children for whose end some suspended jobs wait.
SELECT d.job_number AS number, d.chain FROM dependencies d JOIN jobs j ON j.number = d.job_number
WHERE d.job_number IN :numbers[bigint] AND d.met = 0 AND j.status = 'SUSPENDED' ORDER BY d.chain;

-- name: child_ends
-- How these jobs ended: links by which chains of children are judged.
SELECT j.number, j.status, j.wait_detail, r.result, r.error FROM jobs j LEFT JOIN runs r ON r.run_id = j.run_id
WHERE j.number IN :numbers[bigint];

-- name: put_signal
-- A signal for which no job waits yet.
INSERT INTO signals (chain, name, place, at, payload)
SELECT :chain::bigint, :name::text, coalesce(max(place), 0) + 1, :at::bigint, :payload::text
FROM signals WHERE chain = :chain::bigint AND name = :name::text;

-- name: count_signals
-- How many signals for a chain no job has taken yet.
SELECT count(*) AS count FROM signals WHERE chain = :chain;

-- name: take_signal
-- The oldest signal of this name: it is taken.
DELETE FROM signals WHERE chain = :chain AND name = :name AND place = (
    SELECT min(place) FROM signals WHERE chain = :chain AND name = :name)
RETURNING at, payload;

-- name: forget_signals
-- Chains that start afresh know of no signals.
DELETE FROM signals WHERE chain IN :chains[bigint];

-- name: children
-- Some of the jobs that the handlers of these chains submitted.
SELECT number FROM jobs WHERE parent IN :parents[bigint] ORDER BY number DESC LIMIT :count;

-- name: count_suspended
-- How many jobs are suspended; their index alone tells.
SELECT count(*) AS count FROM jobs WHERE status = 'SUSPENDED';
