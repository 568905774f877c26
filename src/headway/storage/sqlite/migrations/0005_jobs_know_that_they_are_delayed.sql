-- A job that waits for a span of time, unlike one that waits for a moment, waits as long whatever the clock is set to.
ALTER TABLE jobs ADD COLUMN delayed INTEGER NOT NULL DEFAULT 0;
