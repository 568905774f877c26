-- How many runs of a job's chain crashed, and how often it put itself off: both have an end.
ALTER TABLE jobs ADD COLUMN crashes bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN snoozes bigint NOT NULL DEFAULT 0;
