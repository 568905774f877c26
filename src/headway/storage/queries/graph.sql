-- name: awaited_chains
-- For the end of which of these chains a job waits.
SELECT c.value AS chain FROM :chains[bigint] c
WHERE EXISTS (SELECT 1 FROM dependencies WHERE chain = c.value AND met = 0);

-- name: lower_open_deps
-- Some chains ended: their dependents have as many dependencies less as have these policies.
UPDATE jobs SET open_deps = open_deps - d.met FROM (
    SELECT job_number, count(*) AS met FROM dependencies
    WHERE chain IN :chains[bigint] AND met = 0
    AND policy IN :policies[text] GROUP BY job_number
) d WHERE jobs.number = d.job_number
RETURNING number, open_deps;

-- name: meet_dependencies
-- Some chains ended: the dependencies with these policies are met.
UPDATE dependencies SET met = 1
WHERE chain IN :chains[bigint] AND met = 0
AND policy IN :policies[text];

-- name: reopen_dependencies
-- Some chains start afresh: nothing that comes after them is met.
-- The sum keeps the planner from trying every number with every chain.
UPDATE dependencies SET met = 0 WHERE chain IN :chains[bigint] AND met = 1
AND job_number + 0 IN :numbers[bigint];

-- name: dependents
-- The jobs that wait for the end of these chains.
SELECT DISTINCT job_number FROM dependencies
WHERE chain IN :chains[bigint] AND met = 0;

-- name: all_dependents
-- The jobs that come after these chains, whether they still wait or not.
SELECT DISTINCT job_number, chain, policy FROM dependencies WHERE chain IN :chains[bigint];

-- name: newest_dependents
-- Some of those who come after these chains, whether they still wait or not: the newest of the newest chains.
SELECT job_number FROM dependencies WHERE chain IN :chains[bigint]
ORDER BY chain DESC, job_number DESC LIMIT :count;

-- name: dependencies_of
-- What some jobs come after.
SELECT job_number, chain, policy, met FROM dependencies
WHERE job_number IN :numbers[bigint] ORDER BY job_number, chain;

-- name: first_open_dependency
-- For some jobs, the first dependency that is not met.
SELECT f.job_number, f.chain, j.job_id FROM (
    SELECT job_number, min(chain) AS chain FROM dependencies
    WHERE job_number IN :numbers[bigint] AND met = 0 GROUP BY job_number
) f LEFT JOIN jobs j ON j.number = f.chain;

-- name: insert_need
-- A job needs an artifact.
INSERT INTO needs (artifact, job_number) VALUES (:artifact, :job_number) ON CONFLICT DO NOTHING;

-- name: insert_product
-- A job makes an artifact.
INSERT INTO produces (artifact, job_number) VALUES (:artifact, :job_number) ON CONFLICT DO NOTHING;

-- name: waiting_consumers
-- Jobs that wait and need one of these artifacts.
SELECT DISTINCT n.job_number FROM needs n JOIN jobs j ON j.number = n.job_number
WHERE n.artifact IN :artifacts[text] AND j.status = 'WAITING_ON_DEPS';

-- name: needs_that_name_jobs
-- Those of these kinds, which name jobs, of which a job needs an artifact. The semicolon follows the colon.
SELECT k.value AS kind FROM :kinds[text] k
WHERE EXISTS (SELECT 1 FROM needs WHERE artifact >= k.value || ':' AND artifact < k.value || ';');

-- name: consumers
-- Jobs that need one of these artifacts.
SELECT DISTINCT job_number, artifact FROM needs WHERE artifact IN :artifacts[text];

-- name: producers
-- Jobs that make one of these artifacts.
SELECT p.artifact, j.number, j.job_id, j.first_job AS chain, j.history FROM produces p JOIN jobs j ON j.number = p.job_number
WHERE p.artifact IN :artifacts[text] ORDER BY j.number;

-- name: put_marker
-- Set a marker.
INSERT INTO markers (artifact, job_number, created_at) VALUES (:artifact, :job_number, :created_at)
ON CONFLICT (artifact) DO UPDATE SET job_number = excluded.job_number;

-- name: remove_markers
-- Delete markers.
DELETE FROM markers WHERE artifact IN :artifacts[text];

-- name: unmake_markers
-- Delete markers that these jobs made, or that were set by hand.
DELETE FROM markers WHERE artifact IN :artifacts[text]
AND (job_number IS NULL OR job_number IN :makers[bigint]);

-- name: present_markers
-- Which of these markers are set.
SELECT artifact FROM markers WHERE artifact IN :artifacts[text];

-- name: insert_watch
-- A job waits on something that must be looked at.
INSERT INTO watches (what, job_number) VALUES (:what, :job_number) ON CONFLICT DO NOTHING;

-- name: remove_watches
-- Some jobs wait on it no more.
DELETE FROM watches WHERE job_number IN :numbers[bigint];

-- name: watched
-- Everything that must be looked at: one index seek each, however many jobs wait on it.
WITH RECURSIVE found (what) AS (
    SELECT (SELECT what FROM watches ORDER BY what LIMIT 1)
    UNION ALL
    SELECT (SELECT what FROM watches WHERE what > found.what ORDER BY what LIMIT 1)
    FROM found WHERE found.what IS NOT NULL
)
SELECT what FROM found WHERE what IS NOT NULL;

-- name: watchers
-- Some of the jobs that wait on these.
SELECT DISTINCT job_number FROM watches WHERE what IN :whats[text]
ORDER BY job_number LIMIT :count;

-- name: anything_watched
-- Whether anything must be looked at.
SELECT 1 AS one FROM watches LIMIT 1;

-- name: take_up_jobs
-- Some of the jobs that were put off: they are not any more.
DELETE FROM unsettled WHERE job_number IN (SELECT job_number FROM unsettled ORDER BY job_number LIMIT :count)
RETURNING job_number;

-- name: put_off_jobs
-- These jobs are looked at in a later transaction.
INSERT INTO unsettled (job_number) SELECT n.value FROM :numbers[bigint] n WHERE true ON CONFLICT DO NOTHING;

-- name: put_off_among
-- Which of these jobs were put off.
SELECT job_number FROM unsettled WHERE job_number IN :numbers[bigint];

-- name: next_unsettled
-- Jobs that were put off are due at once.
SELECT CASE WHEN EXISTS (SELECT 1 FROM unsettled) THEN 0 END AS at;
