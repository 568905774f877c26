-- What ended a job that never started stays what it was, whatever is submitted later.
ALTER TABLE jobs ADD COLUMN blocked_by TEXT;
