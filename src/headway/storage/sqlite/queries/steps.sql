-- name: step_facts
-- For steps, as an array of arrays of lease, name and index: the job that each is of, the end of its journal, and the
-- same step if it is there.
SELECT k.key AS turn, le.worker_id, j.number, j.first_job AS chain, j.generation, j.attempt, j.journal,
    (SELECT place FROM steps WHERE chain = j.first_job AND generation = j.generation ORDER BY place DESC LIMIT 1) AS last,
    s.finished_at AS known_since, s.result AS known
FROM json_each(:steps) k CROSS JOIN leases le ON le.lease_id = k.value ->> 0
CROSS JOIN jobs j ON j.number = le.job_number
LEFT JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'step'
    AND s.name = k.value ->> 1 AND s.step_index = k.value ->> 2;

-- name: wait_facts
-- For waits, as an array of arrays of job, kind and name: the ends of the journal, and of its waits of that name.
SELECT k.key AS turn,
    (SELECT place FROM steps WHERE chain = j.first_job AND generation = j.generation ORDER BY place DESC LIMIT 1) AS last,
    (SELECT step_index FROM steps WHERE chain = j.first_job AND generation = j.generation AND kind = k.value ->> 1
        AND name = k.value ->> 2 ORDER BY step_index DESC LIMIT 1) AS last_index
FROM json_each(:waits) k CROSS JOIN jobs j ON j.number = k.value ->> 0;

-- name: insert_step
-- An entry of a journal.
INSERT INTO steps (chain, generation, kind, name, step_index, place, attempt, run_id, started_at, finished_at,
    size, result)
VALUES (:chain, :generation, :kind, :name, :step_index, :place, :attempt, :run_id, :started_at, :finished_at,
    :size, :result);

-- name: forget_children
-- Jobs that go on, or start afresh, wait for no child any more.
DELETE FROM dependencies WHERE policy = 'finished' AND (job_number, chain) IN (
    SELECT j.number, e.value FROM jobs j
    JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children'
        AND s.finished_at IS NULL
    CROSS JOIN json_each(s.result) e WHERE j.number IN :numbers[bigint]);

-- name: waiting_parents
-- The suspended jobs that wait for all of some children, and whether the end of this one is behind them.
SELECT d.job_number AS number, d.chain, d.met FROM dependencies d
JOIN jobs j ON j.number = d.job_number AND j.status = 'SUSPENDED'
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children' AND s.finished_at IS NULL
WHERE d.chain IN :chains[bigint] AND d.policy = 'finished'
AND EXISTS (SELECT 1 FROM json_each(s.result) e WHERE e.value = d.chain);

-- name: children_in_journals
-- The children whose ends some jobs have in their journals.
SELECT j.number, e.value AS chain FROM jobs j
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children'
    AND s.finished_at IS NOT NULL
CROSS JOIN json_each(s.result) e WHERE j.number IN :numbers[bigint];
