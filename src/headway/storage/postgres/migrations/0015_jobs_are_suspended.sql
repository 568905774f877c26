-- A job may be suspended, with a journal of what its program has done and waits for. Before version 17, PostgreSQL
-- changes the expression of a column only with the column; its indexes and constraints go with it.
ALTER TABLE jobs DROP COLUMN phase;
ALTER TABLE jobs
    DROP CONSTRAINT only_queued_jobs_are_due,
    ADD COLUMN parent BIGINT,
    ADD COLUMN journal BIGINT NOT NULL DEFAULT 0,
    -- 0 waits, 1 claimed, 2 runs, 3 ended, 4 suspended. A status that is not listed is refused.
    ADD COLUMN phase BIGINT NOT NULL GENERATED ALWAYS AS (CASE status
        WHEN 'QUEUED' THEN 0 WHEN 'WAITING_ON_DEPS' THEN 0 WHEN 'WAITING_ON_APPROVAL' THEN 0
        WHEN 'WAITING_ON_LOCKS' THEN 0
        WHEN 'CLAIMED' THEN 1 WHEN 'PREPARING' THEN 1 WHEN 'LEASE_PENDING' THEN 1
        WHEN 'RUNNING' THEN 2
        WHEN 'SUCCEEDED' THEN 3 WHEN 'FAILED' THEN 3 WHEN 'SKIPPED' THEN 3 WHEN 'TIMEOUT' THEN 3
        WHEN 'CANCELLED' THEN 3 WHEN 'BLOCKED_BY_DEPENDENCY' THEN 3 WHEN 'BLOCKED_BY_APPROVAL' THEN 3
        WHEN 'SUSPENDED' THEN 4
        END) STORED,
    ADD CONSTRAINT ended_exactly_if_finished_at CHECK ((finished_at IS NOT NULL) = (phase = 3)),
    ADD CONSTRAINT claimed_exactly_if_claim_expires CHECK ((claim_expires_at IS NOT NULL) = (phase = 1)),
    ADD CONSTRAINT running_has_a_run CHECK (phase <> 2 OR (run_id IS NOT NULL AND started_at IS NOT NULL)),
    ADD CONSTRAINT only_queued_jobs_are_due CHECK (due_at IS NULL OR status = 'QUEUED' OR status = 'SUSPENDED');
CREATE INDEX jobs_in_queue_order ON jobs (priority DESC, position, number)
    WHERE phase = 0;
CREATE INDEX jobs_behind_a_gate ON jobs (status, number) WHERE phase = 0 AND status <> 'QUEUED';
ALTER TABLE runs DROP CONSTRAINT runs_status_check, ADD CONSTRAINT runs_status_check
    CHECK (status = 'COMPLETED' OR status = 'FAILED' OR status = 'SKIPPED' OR status = 'SUSPENDED');
CREATE INDEX jobs_suspended ON jobs (number) WHERE status = 'SUSPENDED';
CREATE INDEX jobs_by_parent ON jobs (parent, number) WHERE parent IS NOT NULL;
CREATE INDEX runs_that_suspended ON runs (run_id) WHERE status = 'SUSPENDED';

CREATE TABLE steps (
    chain       BIGINT NOT NULL,
    generation  BIGINT NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL
                CHECK (kind = 'step' OR kind = 'sleep' OR kind = 'signal' OR kind = 'children'),
    name        TEXT COLLATE "C" NOT NULL,
    step_index  BIGINT NOT NULL CHECK (step_index >= 0),
    place       BIGINT NOT NULL,
    attempt     BIGINT NOT NULL,
    run_id      TEXT,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT,
    timed_out   BIGINT NOT NULL DEFAULT 0,
    size        BIGINT NOT NULL,
    result      TEXT,
    PRIMARY KEY (chain, generation, kind, name, step_index),
    UNIQUE (chain, generation, place)
);

CREATE TABLE signals (
    chain   BIGINT NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    place   BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    payload TEXT,
    PRIMARY KEY (chain, name, place)
);
