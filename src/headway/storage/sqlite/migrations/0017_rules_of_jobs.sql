-- How many runs of a job's chain crashed.
ALTER TABLE jobs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;

-- Until when a job must have started.
ALTER TABLE jobs ADD COLUMN start_by INTEGER;
CREATE INDEX jobs_start_by ON jobs (start_by)
    WHERE start_by IS NOT NULL AND started_at IS NULL AND finished_at IS NULL;

-- The app whose code asks for a schedule.
ALTER TABLE schedules ADD COLUMN app TEXT;
CREATE INDEX schedules_app ON schedules (app) WHERE app IS NOT NULL;
