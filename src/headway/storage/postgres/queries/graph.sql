-- name: insert_dependency
-- One job comes after another's chain.
INSERT INTO dependencies (job_number, chain, policy, met)
SELECT job_number, chain, policy, met FROM json_populate_recordset(CAST(NULL AS dependencies), CAST(:rows AS json));

-- name: any_dependents
-- Whether anybody waits for the end of these chains.
SELECT 1 AS one FROM dependencies WHERE chain = ANY (CAST(:chains AS bigint[])) AND met = 0 LIMIT 1;

-- name: lower_open_deps
-- Some chains ended: their dependents have as many dependencies less as have these policies.
UPDATE jobs SET open_deps = open_deps - d.met FROM (
    SELECT job_number, count(*) AS met FROM dependencies
    WHERE chain = ANY (CAST(:chains AS bigint[])) AND met = 0
    AND policy = ANY (CAST(:policies AS text[])) GROUP BY job_number
) d WHERE jobs.number = d.job_number
RETURNING number, open_deps;

-- name: meet_dependencies
-- Some chains ended: the dependencies with these policies are met.
UPDATE dependencies SET met = 1
WHERE chain = ANY (CAST(:chains AS bigint[])) AND met = 0
AND policy = ANY (CAST(:policies AS text[]));

-- name: reopen_dependencies
-- Some chains start afresh: nothing that comes after them is met.
-- The sum keeps PostgreSQL from trying every number with every chain.
UPDATE dependencies SET met = 0 WHERE chain = ANY (CAST(:chains AS bigint[])) AND met = 1
AND job_number + 0 = ANY (CAST(:numbers AS bigint[]));

-- name: dependents
-- Who waits for the end of these chains.
SELECT DISTINCT job_number FROM dependencies
WHERE chain = ANY (CAST(:chains AS bigint[])) AND met = 0;

-- name: all_dependents
-- Who comes after these chains, whether they still wait or not.
SELECT DISTINCT job_number, chain, policy FROM dependencies WHERE chain = ANY (CAST(:chains AS bigint[]));

-- name: downstream_chains
-- A chain, and those that come after it or need what it makes, over any number of steps.
-- OFFSET 0 keeps PostgreSQL from reading everything in each step.
WITH RECURSIVE found (chain) AS (
    SELECT CAST(:chain AS bigint)
    UNION
    SELECT j.chain FROM found f
    CROSS JOIN LATERAL (
        SELECT job_number FROM dependencies WHERE chain = f.chain
        UNION ALL
        SELECT n.job_number FROM (
            SELECT number, job_id, terms FROM jobs WHERE number = f.chain
            UNION ALL
            SELECT number, job_id, terms FROM jobs WHERE chain IN (f.chain, -f.chain) AND retry_of IS NOT NULL
        ) link
        CROSS JOIN LATERAL (
            SELECT value AS artifact FROM json_array_elements_text(CAST(link.terms AS json) -> 'produces')
            UNION ALL
            SELECT k || ':' || own FROM unnest(CAST(:kinds AS text[])) k,
                unnest(ARRAY[link.job_id, CAST(link.number AS text)]) own
        ) made
        CROSS JOIN LATERAL (SELECT job_number FROM needs WHERE artifact = made.artifact OFFSET 0) n
        OFFSET 0) d
    CROSS JOIN LATERAL (SELECT chain FROM jobs WHERE number = d.job_number OFFSET 0) j
    WHERE j.chain > 0
)
SELECT chain FROM found;

-- name: dependencies_of
-- What some jobs come after.
SELECT job_number, chain, policy, met FROM dependencies
WHERE job_number = ANY (CAST(:numbers AS bigint[])) ORDER BY job_number, chain;

-- name: waits_on
-- Those of some jobs that wait for others, and all before them that do, over any number of steps.
-- OFFSET 0 keeps PostgreSQL from reading everything in each step.
WITH RECURSIVE found (number) AS (
    SELECT number FROM jobs WHERE number = ANY (CAST(:numbers AS bigint[]))
    AND (status = 'WAITING_ON_DEPS' OR due_at IS NOT NULL)
    UNION
    SELECT j.number FROM found f
    CROSS JOIN LATERAL (SELECT chain FROM dependencies WHERE job_number = f.number AND met = 0 OFFSET 0) d
    CROSS JOIN LATERAL (
        SELECT number, status, due_at FROM jobs WHERE number = d.chain
        UNION ALL
        SELECT number, status, due_at FROM jobs WHERE chain = d.chain AND retry_of IS NOT NULL OFFSET 0) j
    WHERE j.status = 'WAITING_ON_DEPS' OR j.due_at IS NOT NULL
)
SELECT j.number, j.gated FROM found f JOIN jobs j ON j.number = f.number LIMIT :count;

-- name: first_open_dependency
-- For some jobs, the first dependency that is not met.
SELECT job_number, min(chain) AS chain FROM dependencies
WHERE job_number = ANY (CAST(:numbers AS bigint[])) AND met = 0 GROUP BY job_number;

-- name: insert_need
-- A job needs an artifact.
INSERT INTO needs (artifact, job_number) VALUES (:artifact, :job_number) ON CONFLICT DO NOTHING;

-- name: insert_product
-- A job makes an artifact.
INSERT INTO produces (artifact, job_number) VALUES (:artifact, :job_number) ON CONFLICT DO NOTHING;

-- name: waiting_consumers
-- Jobs that wait and need one of these artifacts.
SELECT DISTINCT n.job_number FROM needs n JOIN jobs j ON j.number = n.job_number
WHERE n.artifact = ANY (CAST(:artifacts AS text[])) AND j.status = 'WAITING_ON_DEPS';

-- name: needs_that_name_jobs
-- Of which of these kinds, which name jobs, anybody needs an artifact. The semicolon follows the colon.
SELECT k.value AS kind FROM unnest(CAST(:kinds AS text[])) k (value)
WHERE EXISTS (SELECT 1 FROM needs WHERE artifact >= k.value || ':' AND artifact < k.value || ';');

-- name: consumers
-- Jobs that need one of these artifacts.
SELECT DISTINCT job_number, artifact FROM needs WHERE artifact = ANY (CAST(:artifacts AS text[]));

-- name: producers
-- Jobs that make one of these artifacts.
SELECT p.artifact, j.number, j.job_id, j.chain FROM produces p JOIN jobs j ON j.number = p.job_number
WHERE p.artifact = ANY (CAST(:artifacts AS text[])) ORDER BY j.number;

-- name: put_marker
-- A custom artifact is there.
INSERT INTO markers (artifact, job_number, created_at) VALUES (:artifact, :job_number, :created_at)
ON CONFLICT (artifact) DO UPDATE SET job_number = excluded.job_number;

-- name: remove_markers
-- Custom artifacts are gone.
DELETE FROM markers WHERE artifact = ANY (CAST(:artifacts AS text[]));

-- name: unmake_markers
-- Custom artifacts that these jobs made, or that somebody set by hand, are gone.
DELETE FROM markers WHERE artifact = ANY (CAST(:artifacts AS text[]))
AND (job_number IS NULL OR job_number = ANY (CAST(:makers AS bigint[])));

-- name: present_markers
-- Which of these custom artifacts are there.
SELECT artifact FROM markers WHERE artifact = ANY (CAST(:artifacts AS text[]));

-- name: insert_watch
-- A job waits on something that must be looked at.
INSERT INTO watches (what, job_number) VALUES (:what, :job_number) ON CONFLICT DO NOTHING;

-- name: remove_watches
-- Some jobs wait on it no more.
DELETE FROM watches WHERE job_number = ANY (CAST(:numbers AS bigint[]));

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
SELECT DISTINCT job_number FROM watches WHERE what = ANY (CAST(:whats AS text[]))
ORDER BY job_number LIMIT :count;

-- name: anything_watched
-- Whether anything must be looked at.
SELECT 1 AS one FROM watches LIMIT 1;

-- name: put_off_jobs
-- These jobs are looked at in a later transaction.
INSERT INTO unsettled (job_number) SELECT unnest(CAST(:numbers AS bigint[])) ON CONFLICT DO NOTHING;

-- name: take_up_jobs
-- Some of the jobs that were put off: they are not any more.
DELETE FROM unsettled WHERE job_number IN (SELECT job_number FROM unsettled ORDER BY job_number LIMIT :count)
RETURNING job_number;

-- name: put_off_among
-- Which of these jobs were put off.
SELECT job_number FROM unsettled WHERE job_number = ANY (CAST(:numbers AS bigint[]));

-- name: next_unsettled
-- Jobs that were put off are due at once.
SELECT CASE WHEN EXISTS (SELECT 1 FROM unsettled) THEN 0 END AS at;
