-- name: insert_dependency
-- One job comes after another's chain.
INSERT INTO dependencies (job_number, chain, policy, met) VALUES (:job_number, :chain, :policy, :met);

-- name: downstream_chains
-- A chain, and those that come after it or need what it makes, over any number of steps. A program that waits for a
-- child does not come after it: it only waits longer.
WITH RECURSIVE found (chain) AS (
    SELECT :chain
    UNION
    SELECT j.chain FROM found f JOIN dependencies d ON d.chain = f.chain
    JOIN jobs j ON j.number = d.job_number AND j.history = 0
        AND (j.status <> 'SUSPENDED' OR d.policy <> 'finished' OR NOT EXISTS (
            SELECT 1 FROM steps s JOIN json_each(s.result) e ON e.value = d.chain
            WHERE s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children'
            AND s.finished_at IS NULL))
    UNION
    SELECT j.chain FROM found f JOIN jobs m ON m.number = f.chain JOIN groups g ON g.group_id = m.group_id
    JOIN dependencies d ON d.chain = g.chain
    JOIN jobs j ON j.number = d.job_number AND j.history = 0
    UNION
    SELECT j.chain FROM found f
    JOIN jobs link ON (link.number = f.chain OR (link.chain = f.chain AND link.retry_of IS NOT NULL)
        OR (link.first_job = f.chain AND link.history = 1))
    JOIN json_each(link.terms, '$.produces') made JOIN needs n ON n.artifact = made.value
    JOIN jobs j ON j.number = n.job_number AND j.history = 0
    UNION
    SELECT j.chain FROM found f
    JOIN jobs link ON (link.number = f.chain OR (link.chain = f.chain AND link.retry_of IS NOT NULL)
        OR (link.first_job = f.chain AND link.history = 1))
    JOIN json_each(:kinds) k JOIN needs n ON n.artifact IN (k.value || ':' || link.job_id, k.value || ':' || link.number)
    JOIN jobs j ON j.number = n.job_number AND j.history = 0
)
SELECT chain FROM found;

-- name: waits_on
-- Those of some jobs that wait for others, and all before them that do, over any number of steps.
WITH RECURSIVE found (number) AS (
    SELECT number FROM jobs WHERE number IN :numbers[bigint]
    AND (status = 'WAITING_ON_DEPS' OR due_at IS NOT NULL)
    UNION
    SELECT j.number FROM found f JOIN dependencies d ON d.job_number = f.number AND d.met = 0
    JOIN jobs j ON (j.number = d.chain OR (j.chain = d.chain AND j.retry_of IS NOT NULL))
    AND (j.status = 'WAITING_ON_DEPS' OR j.due_at IS NOT NULL)
)
SELECT j.number, j.gated FROM found f JOIN jobs j ON j.number = f.number LIMIT :count;
