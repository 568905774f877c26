-- A job may be suspended, with a journal of what its program has done and waits for. SQLite has no statement that
-- changes an expression of a table, and to copy it takes long: the text of the schema is changed, as its manual says.
-- No row has a status that is now read otherwise.
ALTER TABLE jobs ADD COLUMN parent INTEGER;
ALTER TABLE jobs ADD COLUMN journal INTEGER NOT NULL DEFAULT 0;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'WHEN ''RUNNING'' THEN 2', 'WHEN ''RUNNING'' THEN 2 WHEN ''SUSPENDED'' THEN 4'),
    'CHECK (due_at IS NULL OR status = ''QUEUED'')', 'CHECK (due_at IS NULL OR status = ''QUEUED'' OR status = ''SUSPENDED'')')
WHERE type = 'table' AND name = 'jobs';
UPDATE sqlite_schema SET sql = replace(sql, 'status = ''SKIPPED'')', 'status = ''SKIPPED'' OR status = ''SUSPENDED'')')
WHERE type = 'table' AND name = 'runs';
PRAGMA writable_schema = RESET;
CREATE INDEX jobs_suspended ON jobs (number) WHERE status = 'SUSPENDED';
CREATE INDEX jobs_by_parent ON jobs (parent, number) WHERE parent IS NOT NULL;
CREATE INDEX runs_that_suspended ON runs (run_id) WHERE status = 'SUSPENDED';

CREATE TABLE steps (
    chain       INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind = 'step' OR kind = 'sleep' OR kind = 'signal' OR kind = 'children'),
    name        TEXT NOT NULL,
    step_index  INTEGER NOT NULL CHECK (step_index >= 0),
    place       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    run_id      TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    timed_out   INTEGER NOT NULL DEFAULT 0,
    size        INTEGER NOT NULL,
    result      TEXT,
    PRIMARY KEY (chain, generation, kind, name, step_index),
    UNIQUE (chain, generation, place)
) WITHOUT ROWID;

CREATE TABLE signals (
    chain   INTEGER NOT NULL,
    name    TEXT NOT NULL,
    place   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    payload TEXT,
    PRIMARY KEY (chain, name, place)
) WITHOUT ROWID;
