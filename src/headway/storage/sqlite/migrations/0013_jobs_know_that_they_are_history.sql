-- The first job of a job's chain, and whether a rewind took the job from that chain. The version before
-- writes and reads both as `chain`, which is negative for history: so they are derived from it.
ALTER TABLE jobs ADD COLUMN first_job INTEGER NOT NULL GENERATED ALWAYS AS (abs(chain)) VIRTUAL;
ALTER TABLE jobs ADD COLUMN history INTEGER NOT NULL GENERATED ALWAYS AS (chain < 0) VIRTUAL;
CREATE INDEX jobs_history ON jobs (first_job, number) WHERE history = 1;
