-- Names of workers that left are kept, and not looked through to find those that are there.
CREATE INDEX workers_there ON workers (worker_id) WHERE left_at IS NULL;
