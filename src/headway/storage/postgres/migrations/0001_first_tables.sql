-- The first tables. Times are integer milliseconds since 1970 (UTC). JSON is text.
-- Every integer has 64 bits, and text that is a key sorts by code point, both as in SQLite. Nothing is
-- REFERENCES: the checks would lock and write rows of lanes at each submit.
-- In the hot tables, words are checked with OR: for every row, SQLite builds a table of an IN list.

-- In SQLite these are rows of a table. Here a row would stay locked until the end of the transaction,
-- and submits would wait for each other's commits.
CREATE SEQUENCE job_numbers;
CREATE SEQUENCE positions;
CREATE SEQUENCE payload_ids;

-- Take so many of each; answers the last of each. The lock makes them follow each other without gaps.
-- It is held for this moment only: what is undone here gives back the lock, whatever went wrong, and
-- sequences do not take part in that.
CREATE FUNCTION take_numbers(jobs BIGINT, positions BIGINT, payloads BIGINT)
RETURNS TABLE (name TEXT, value BIGINT) LANGUAGE plpgsql AS $$
DECLARE
    job BIGINT := 0;
    place BIGINT := 0;
    payload BIGINT := 0;
BEGIN
    BEGIN
        PERFORM pg_advisory_xact_lock(4929, 1);
        IF jobs > 0 THEN job := setval('job_numbers', nextval('job_numbers') + jobs - 1); END IF;
        IF positions > 0 THEN place := setval('positions', nextval('positions') + positions - 1); END IF;
        IF payloads > 0 THEN payload := setval('payload_ids', nextval('payload_ids') + payloads - 1); END IF;
        RAISE SQLSTATE 'HW001';
    EXCEPTION WHEN SQLSTATE 'HW001' THEN NULL;
    END;
    RETURN QUERY VALUES ('job', job), ('position', place), ('payload', payload);
END $$;

-- The number of each writer's last commit: tells whether a commit took place whose answer was lost.
CREATE TABLE writers (
    name    TEXT COLLATE "C" PRIMARY KEY,
    commits BIGINT NOT NULL,
    at      TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT clock_timestamp()
);

-- How many jobs ever ended in which status; survives the garbage collector.
-- Each writer has its own part of the sum, so that nobody waits for the commit of another.
CREATE TABLE totals (
    status TEXT COLLATE "C" NOT NULL,
    part   BIGINT NOT NULL,
    count  BIGINT NOT NULL,
    PRIMARY KEY (status, part)
);

-- Small things that are set once, such as the default webhook secret.
CREATE TABLE facts (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

-- What jobs have in common that can start under the same conditions. Never changed.
CREATE TABLE lanes (
    lane_id    BIGINT PRIMARY KEY,
    key        TEXT COLLATE "C" NOT NULL UNIQUE,
    queue      TEXT NOT NULL,
    job_type   TEXT NOT NULL,
    cost_units BIGINT NOT NULL,
    requires   TEXT NOT NULL,
    limits     TEXT NOT NULL
);

-- Params, never changed: a job whose params change points to another row, its runs keep theirs.
CREATE TABLE payloads (
    payload_id BIGINT PRIMARY KEY,
    body       TEXT NOT NULL
);

INSERT INTO payloads (payload_id, body) VALUES (0, '{}');

-- A job has three versions until they are cleaned up, each with an entry in these indexes: leave room
-- for them beside the first, or pages would be split and searched for what can go all the time.
CREATE TABLE jobs (
    number           BIGINT PRIMARY KEY WITH (fillfactor = 33),
    job_id           TEXT COLLATE "C" NOT NULL UNIQUE WITH (fillfactor = 33),
    lane_id          BIGINT NOT NULL,
    payload_id       BIGINT NOT NULL,
    status           TEXT NOT NULL,
    priority         BIGINT NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    position         BIGINT NOT NULL,
    terms            TEXT NOT NULL,
    attempt          BIGINT NOT NULL DEFAULT 0,
    generation       BIGINT NOT NULL DEFAULT 1,
    gated            BIGINT NOT NULL DEFAULT 0,
    dedup_key        TEXT,
    created_at       BIGINT NOT NULL,
    queued_at        BIGINT,
    limited_since    BIGINT,
    waited_on        TEXT NOT NULL DEFAULT '[]',
    due_at           BIGINT,
    scheduled_for    BIGINT,
    chain            BIGINT NOT NULL,
    retry_of         BIGINT,
    retry_state      TEXT NOT NULL DEFAULT 'none'
                     CHECK (retry_state = 'none' OR retry_state = 'scheduled'
                            OR retry_state = 'exhausted' OR retry_state = 'suppressed'),
    template_id      TEXT,
    schedule_id      TEXT,
    fire_time        BIGINT,
    group_id         TEXT,
    group_place      BIGINT,
    open_deps        BIGINT NOT NULL DEFAULT 0 CHECK (open_deps >= 0),
    approval         TEXT CHECK (approval = 'PENDING' OR approval = 'APPROVED' OR approval = 'REJECTED'),
    wait_kind        TEXT,
    wait_detail      TEXT,
    cancel           TEXT CHECK (cancel = 'asked' OR cancel = 'forced'),
    worker_id        TEXT,
    claim_expires_at BIGINT,
    denials          BIGINT NOT NULL DEFAULT 0,
    run_id           TEXT,
    progress         TEXT,
    unique_key       TEXT,
    idempotency_key  TEXT,
    request_hash     TEXT,
    started_at       BIGINT,
    finished_at      BIGINT,
    exit_code        BIGINT,
    -- 0 waits, 1 claimed, 2 runs, 3 ended. A status that is not listed is refused.
    phase            BIGINT NOT NULL GENERATED ALWAYS AS (CASE status
        WHEN 'QUEUED' THEN 0 WHEN 'WAITING_ON_DEPS' THEN 0 WHEN 'WAITING_ON_APPROVAL' THEN 0
        WHEN 'WAITING_ON_LOCKS' THEN 0
        WHEN 'CLAIMED' THEN 1 WHEN 'PREPARING' THEN 1 WHEN 'LEASE_PENDING' THEN 1
        WHEN 'RUNNING' THEN 2
        WHEN 'SUCCEEDED' THEN 3 WHEN 'FAILED' THEN 3 WHEN 'SKIPPED' THEN 3 WHEN 'TIMEOUT' THEN 3
        WHEN 'CANCELLED' THEN 3 WHEN 'BLOCKED_BY_DEPENDENCY' THEN 3 WHEN 'BLOCKED_BY_APPROVAL' THEN 3
        END) STORED,
    CONSTRAINT ended_exactly_if_finished_at CHECK ((finished_at IS NOT NULL) = (phase = 3)),
    CONSTRAINT claimed_exactly_if_claim_expires CHECK ((claim_expires_at IS NOT NULL) = (phase = 1)),
    CONSTRAINT running_has_a_run CHECK (phase <> 2 OR (run_id IS NOT NULL AND started_at IS NOT NULL)),
    CONSTRAINT only_queued_jobs_are_due CHECK (due_at IS NULL OR status = 'QUEUED')
);

-- The claim: the head of each lane. Only jobs that may start are in it.
CREATE INDEX jobs_ready ON jobs (lane_id, priority DESC, position, number)
    WHERE status = 'QUEUED' AND due_at IS NULL;
-- The queue as people see it, and the rank of a job in it.
CREATE INDEX jobs_in_queue_order ON jobs (priority DESC, position, number)
    WHERE phase = 0;
-- Lists of what is not over.
CREATE INDEX jobs_active ON jobs (number) WITH (fillfactor = 50) WHERE finished_at IS NULL;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_claim_expiry ON jobs (claim_expires_at) WHERE claim_expires_at IS NOT NULL;
CREATE INDEX jobs_starved ON jobs (limited_since) WHERE limited_since IS NOT NULL;
CREATE INDEX jobs_retries_by_chain ON jobs (chain, number) WHERE retry_of IS NOT NULL;
CREATE INDEX jobs_by_group ON jobs (group_id, group_place) WHERE group_id IS NOT NULL;
CREATE INDEX jobs_active_by_group ON jobs (group_id) WHERE group_id IS NOT NULL AND finished_at IS NULL;
CREATE INDEX jobs_by_schedule ON jobs (schedule_id, number) WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_by_dedup_key ON jobs (dedup_key, finished_at) WHERE dedup_key IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (status, number) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_without_retry_decision ON jobs (number)
    WHERE (status = 'FAILED' OR status = 'TIMEOUT') AND retry_state = 'none';
CREATE UNIQUE INDEX one_job_per_idempotency_key ON jobs (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX one_active_job_per_unique_key ON jobs (unique_key)
    WHERE unique_key IS NOT NULL AND finished_at IS NULL;

CREATE TABLE tags (
    tag        TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    PRIMARY KEY (tag, job_number)
);

-- One execution each. The id is the lease's too.
CREATE TABLE runs (
    run_id      TEXT COLLATE "C" PRIMARY KEY,
    job_number  BIGINT NOT NULL,
    attempt     BIGINT NOT NULL,
    generation  BIGINT NOT NULL,
    status      TEXT CHECK (status = 'COMPLETED' OR status = 'FAILED' OR status = 'SKIPPED'),
    payload_id  BIGINT NOT NULL,
    worker_id   TEXT,
    lease_state TEXT CHECK (lease_state = 'ACTIVE' OR lease_state = 'EXPIRED' OR lease_state = 'RELEASED'),
    ttl_ms      BIGINT,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT,
    exit_code   BIGINT,
    error       TEXT,
    result      TEXT,
    artifacts   TEXT,
    report_hash TEXT,
    CONSTRAINT ended_exactly_if_finished_at CHECK ((status IS NULL) = (finished_at IS NULL))
);

CREATE INDEX runs_by_job ON runs (job_number);

-- Live leases only: a lease that ended has its state in its run. What is used is derived from here.
-- One lease a job is also one open run a job.
CREATE TABLE leases (
    job_number BIGINT PRIMARY KEY,
    lease_id   TEXT COLLATE "C" NOT NULL UNIQUE,
    lane_id    BIGINT NOT NULL,
    worker_id  TEXT NOT NULL,
    ttl_ms     BIGINT NOT NULL,
    granted_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    deadline   BIGINT,
    progress   TEXT
);

CREATE INDEX leases_by_expiry ON leases (expires_at);

CREATE TABLE dependencies (
    job_number BIGINT NOT NULL,
    chain      BIGINT NOT NULL,
    policy     TEXT COLLATE "C" NOT NULL CHECK (policy = 'success' OR policy = 'finished' OR policy = 'failure'),
    met        BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (chain, job_number, policy)
);

CREATE INDEX dependencies_by_job ON dependencies (job_number, chain);

CREATE TABLE needs (
    artifact   TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    PRIMARY KEY (artifact, job_number)
);

CREATE TABLE produces (
    artifact   TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    PRIMARY KEY (artifact, job_number)
);

CREATE TABLE markers (
    artifact   TEXT COLLATE "C" PRIMARY KEY,
    job_number BIGINT,
    created_at BIGINT NOT NULL
);

-- What cannot notify and must be looked at: files, branches, plug-ins, and the jobs that wait on them.
CREATE TABLE watches (
    what       TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    PRIMARY KEY (what, job_number)
);

CREATE INDEX watches_by_job ON watches (job_number);

CREATE TABLE locks (
    key        TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    mode       TEXT NOT NULL CHECK (mode IN ('shared', 'exclusive')),
    since      BIGINT NOT NULL,
    PRIMARY KEY (key, job_number)
);

CREATE INDEX locks_by_job ON locks (job_number);

-- Who may start but for locks, in line for each of them: 0 ready, 1 waits for locks, 2 claimed.
CREATE TABLE lock_waiters (
    key        TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    mode       TEXT NOT NULL CHECK (mode IN ('shared', 'exclusive')),
    standing   BIGINT NOT NULL CHECK (standing IN (0, 1, 2)),
    lane_id    BIGINT NOT NULL,
    priority   BIGINT NOT NULL,
    position   BIGINT NOT NULL,
    PRIMARY KEY (key, job_number)
);

CREATE INDEX lock_waiters_in_order
    ON lock_waiters (key, mode, standing, lane_id, priority DESC, position, job_number);
CREATE INDEX lock_waiters_by_job ON lock_waiters (job_number);

CREATE TABLE events (
    seq        BIGINT PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
    at         BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    job_number BIGINT,
    data       TEXT
);

CREATE INDEX events_by_job ON events (job_number, seq) WHERE job_number IS NOT NULL;
CREATE INDEX events_without_job ON events (seq) WHERE job_number IS NULL;

CREATE TABLE limits (
    name TEXT COLLATE "C" PRIMARY KEY,
    size BIGINT CHECK (size >= 0),
    rate TEXT
);

INSERT INTO limits (name, size) VALUES ('capacity', 100);

CREATE TABLE rate_uses (
    name       TEXT COLLATE "C" NOT NULL,
    at         BIGINT NOT NULL,
    job_number BIGINT NOT NULL,
    amount     BIGINT NOT NULL,
    PRIMARY KEY (name, at, job_number)
);

CREATE TABLE pauses (
    queue    TEXT COLLATE "C" NOT NULL,
    job_type TEXT COLLATE "C" NOT NULL,
    since    BIGINT NOT NULL,
    PRIMARY KEY (queue, job_type)
);

-- Each belongs to the token that used it first.
CREATE TABLE workers (
    worker_id       TEXT COLLATE "C" PRIMARY KEY,
    token_id        TEXT,
    host            TEXT NOT NULL,
    pid             BIGINT NOT NULL,
    process_started TEXT NOT NULL,
    built_in        BIGINT NOT NULL,
    abilities       TEXT NOT NULL,
    slots           BIGINT NOT NULL,
    first_seen      BIGINT NOT NULL,
    last_seen       BIGINT NOT NULL
);

CREATE TABLE templates (
    template_id TEXT COLLATE "C" PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL UNIQUE,
    status      TEXT NOT NULL CHECK (status IN ('ACTIVE', 'ARCHIVED')),
    body        TEXT NOT NULL
);

CREATE TABLE schedules (
    schedule_id TEXT COLLATE "C" PRIMARY KEY,
    template_id TEXT NOT NULL,
    next_at     BIGINT,
    body        TEXT NOT NULL
);

CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;

-- Each fire once, whoever saw it first.
CREATE TABLE fires (
    schedule_id TEXT COLLATE "C" NOT NULL,
    fire_time   BIGINT NOT NULL,
    job_number  BIGINT,
    PRIMARY KEY (schedule_id, fire_time)
);

CREATE TABLE groups (
    group_id   TEXT COLLATE "C" PRIMARY KEY,
    name       TEXT,
    mode       TEXT NOT NULL CHECK (mode IN ('sequential', 'parallel')),
    on_failure TEXT NOT NULL CHECK (on_failure IN ('stop', 'continue', 'skip')),
    created_at BIGINT NOT NULL,
    ended_at   BIGINT
);

CREATE TABLE webhooks (
    webhook_id TEXT COLLATE "C" PRIMARY KEY,
    url        TEXT NOT NULL,
    events     TEXT NOT NULL,
    secret     TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE deliveries (
    delivery_id     TEXT COLLATE "C" PRIMARY KEY,
    webhook_id      TEXT,
    url             TEXT NOT NULL,
    event           TEXT NOT NULL,
    job_number      BIGINT NOT NULL,
    job_id          TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
    attempts        BIGINT NOT NULL DEFAULT 0,
    due_at          BIGINT,
    payload         TEXT NOT NULL,
    last_error      TEXT,
    response_status BIGINT,
    created_at      BIGINT NOT NULL,
    delivered_at    BIGINT,
    CONSTRAINT pending_exactly_if_due CHECK ((status = 'PENDING') = (due_at IS NOT NULL))
);

CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_job ON deliveries (job_number);

CREATE TABLE reservations (
    reservation_id TEXT COLLATE "C" PRIMARY KEY,
    reserved_by    TEXT NOT NULL,
    server         TEXT,
    state          TEXT NOT NULL CHECK (state IN ('ACTIVE', 'RELEASED', 'EXPIRED')),
    running        BIGINT NOT NULL DEFAULT 0,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    ended_at       BIGINT
);

CREATE UNIQUE INDEX one_active_reservation ON reservations (state) WHERE state = 'ACTIVE';

-- The audit record of direct requests, which are not jobs.
CREATE TABLE direct_requests (
    request_id  TEXT COLLATE "C" PRIMARY KEY,
    job_type    TEXT NOT NULL,
    status      TEXT NOT NULL,
    error       TEXT,
    waited_ms   BIGINT NOT NULL,
    duration_ms BIGINT,
    created_at  BIGINT NOT NULL
);

CREATE TABLE tokens (
    token_id   TEXT COLLATE "C" PRIMARY KEY,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('read', 'submit', 'work', 'admin')),
    digest     TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

-- Rows of these change all the time: clean up early. Where no index is concerned, leave room in the page.
ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE runs SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE leases SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE totals SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE writers SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
