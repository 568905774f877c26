-- A worker that said goodbye keeps its name, so that no other token can use it.
ALTER TABLE workers ADD COLUMN left_at INTEGER;
-- A worker that is drained takes no more jobs.
ALTER TABLE workers ADD COLUMN draining_since INTEGER;
CREATE INDEX workers_draining ON workers (worker_id) WHERE draining_since IS NOT NULL;
