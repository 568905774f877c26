-- name: step_facts
-- For steps, as an array of arrays of lease, name and index: the job that each is of, the end of its journal, and the
-- same step if it is there. The lease cannot end until the step is written.
SELECT k.turn - 1 AS turn, le.worker_id, j.number, j.first_job AS chain, j.generation, j.attempt, j.journal,
    (SELECT place FROM steps WHERE chain = j.first_job AND generation = j.generation ORDER BY place DESC LIMIT 1) AS last,
    s.finished_at AS known_since, s.result AS known
FROM jsonb_array_elements(CAST(:steps AS jsonb)) WITH ORDINALITY AS k (value, turn)
CROSS JOIN LATERAL (SELECT job_number, worker_id FROM leases WHERE lease_id = k.value ->> 0 FOR KEY SHARE) le
CROSS JOIN LATERAL (SELECT number, first_job, generation, attempt, journal FROM jobs WHERE number = le.job_number) j
LEFT JOIN LATERAL (SELECT finished_at, result FROM steps WHERE chain = j.first_job AND generation = j.generation
    AND kind = 'step' AND name = k.value ->> 1 AND step_index = CAST(k.value ->> 2 AS bigint)) s ON true;

-- name: wait_facts
-- For waits, as an array of arrays of job, kind and name: the ends of the journal, and of its waits of that name.
SELECT k.turn - 1 AS turn,
    (SELECT place FROM steps WHERE chain = j.first_job AND generation = j.generation ORDER BY place DESC LIMIT 1) AS last,
    (SELECT step_index FROM steps WHERE chain = j.first_job AND generation = j.generation AND kind = k.value ->> 1
        AND name = k.value ->> 2 ORDER BY step_index DESC LIMIT 1) AS last_index
FROM jsonb_array_elements(CAST(:waits AS jsonb)) WITH ORDINALITY AS k (value, turn)
CROSS JOIN LATERAL (SELECT first_job, generation FROM jobs WHERE number = CAST(k.value ->> 0 AS bigint)) j;

-- name: insert_step
-- An entry of a journal.
INSERT INTO steps (chain, generation, kind, name, step_index, place, attempt, run_id, started_at, finished_at,
    size, result)
SELECT chain, generation, kind, name, step_index, place, attempt, run_id, started_at, finished_at, size, result
FROM json_populate_recordset(CAST(NULL AS steps), CAST(:rows AS json));

-- name: forget_children
-- Jobs that go on, or start afresh, wait for no child any more.
DELETE FROM dependencies WHERE policy = 'finished' AND (job_number, chain) IN (
    SELECT j.number, CAST(e.value AS bigint) FROM jobs j
    JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children'
        AND s.finished_at IS NULL
    CROSS JOIN jsonb_array_elements(CAST(s.result AS jsonb)) e WHERE j.number IN :numbers[bigint]);

-- name: waiting_parents
-- The suspended jobs that wait for all of some children, and whether the end of this one is behind them.
SELECT d.job_number AS number, d.chain, d.met FROM dependencies d
JOIN jobs j ON j.number = d.job_number AND j.status = 'SUSPENDED'
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children' AND s.finished_at IS NULL
WHERE d.chain IN :chains[bigint] AND d.policy = 'finished'
AND EXISTS (SELECT 1 FROM jsonb_array_elements(CAST(s.result AS jsonb)) e WHERE CAST(e.value AS bigint) = d.chain);

-- name: children_in_journals
-- The children whose ends some jobs have in their journals.
SELECT j.number, CAST(e.value AS bigint) AS chain FROM jobs j
JOIN steps s ON s.chain = j.first_job AND s.generation = j.generation AND s.kind = 'children'
    AND s.finished_at IS NOT NULL
CROSS JOIN jsonb_array_elements(CAST(s.result AS jsonb)) e WHERE j.number IN :numbers[bigint];
