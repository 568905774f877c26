-- Whether params take from the results of other jobs: then they are filled in when their job starts.
ALTER TABLE payloads ADD COLUMN refers INTEGER NOT NULL DEFAULT 0;
