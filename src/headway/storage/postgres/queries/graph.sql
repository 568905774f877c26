-- name: insert_dependency
-- One job comes after another's chain.
INSERT INTO dependencies (job_number, chain, policy, met)
SELECT job_number, chain, policy, met FROM json_populate_recordset(CAST(NULL AS dependencies), CAST(:rows AS json));

-- name: downstream_chains
-- A chain, and those that come after it or need what it makes, over any number of steps. A program that waits for a
-- child does not come after it: it only waits longer.
-- OFFSET 0 keeps PostgreSQL from reading everything in each step.
WITH RECURSIVE found (chain) AS (
    SELECT :chain::bigint
    UNION
    SELECT j.chain FROM found f
    CROSS JOIN LATERAL (
        SELECT w.job_number FROM dependencies w WHERE w.chain = f.chain
        AND (w.policy <> 'finished' OR NOT EXISTS (
            SELECT 1 FROM jobs p JOIN steps s ON s.chain = p.first_job AND s.generation = p.generation
                AND s.kind = 'children' AND s.finished_at IS NULL
            CROSS JOIN jsonb_array_elements(CAST(s.result AS jsonb)) e
            WHERE p.number = w.job_number AND p.status = 'SUSPENDED' AND CAST(e.value AS bigint) = w.chain OFFSET 0))
        UNION ALL
        SELECT d.job_number FROM (SELECT group_id FROM jobs WHERE number = f.chain) m
        CROSS JOIN LATERAL (SELECT chain FROM groups WHERE group_id = m.group_id AND chain IS NOT NULL OFFSET 0) g
        CROSS JOIN LATERAL (SELECT job_number FROM dependencies WHERE chain = g.chain OFFSET 0) d
        UNION ALL
        SELECT n.job_number FROM (
            SELECT number, job_id, terms FROM jobs WHERE number = f.chain
            UNION ALL
            SELECT number, job_id, terms FROM jobs WHERE chain = f.chain AND retry_of IS NOT NULL
            UNION ALL
            SELECT number, job_id, terms FROM jobs WHERE first_job = f.chain AND history = 1
        ) link
        CROSS JOIN LATERAL (
            SELECT value AS artifact FROM json_array_elements_text(CAST(link.terms AS json) -> 'produces')
            UNION ALL
            SELECT k || ':' || own FROM unnest(CAST(:kinds AS text[])) k,
                unnest(ARRAY[link.job_id, CAST(link.number AS text)]) own
        ) made
        CROSS JOIN LATERAL (SELECT job_number FROM needs WHERE artifact = made.artifact OFFSET 0) n
        OFFSET 0) d
    CROSS JOIN LATERAL (SELECT chain FROM jobs WHERE number = d.job_number AND history = 0 OFFSET 0) j
)
SELECT chain FROM found;

-- name: waits_on
-- Those of some jobs that wait for others, and all before them that do, over any number of steps.
-- OFFSET 0 keeps PostgreSQL from reading everything in each step.
WITH RECURSIVE found (number) AS (
    SELECT number FROM jobs WHERE number IN :numbers[bigint]
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
