-- The first job of a job's chain, and whether a rewind took the job from that chain. The version before
-- writes and reads both as `chain`, which is negative for history: so they are derived from it.
ALTER TABLE jobs
    ADD COLUMN first_job BIGINT NOT NULL GENERATED ALWAYS AS (abs(chain)) STORED,
    ADD COLUMN history BIGINT NOT NULL GENERATED ALWAYS AS (CASE WHEN chain < 0 THEN 1 ELSE 0 END) STORED;
CREATE INDEX jobs_history ON jobs (first_job, number) WHERE history = 1;
