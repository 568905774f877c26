-- The SQLite schema as the migrations make it. Written by `python -m docs_tools`.
-- PostgreSQL has the same tables; compare src/headway/storage/*/migrations.

CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);

CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE totals (
    status TEXT NOT NULL,
    part   INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (status, part)
) WITHOUT ROWID;

CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE lanes (
    lane_id    INTEGER PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    queue      TEXT NOT NULL,
    job_type   TEXT NOT NULL,
    cost_units INTEGER NOT NULL,
    requires   TEXT NOT NULL,
    limits     TEXT NOT NULL
, mark INTEGER NOT NULL DEFAULT 0, closed TEXT);

CREATE TABLE payloads (
    payload_id INTEGER PRIMARY KEY,
    body       TEXT NOT NULL
, refers INTEGER NOT NULL DEFAULT 0);

CREATE TABLE jobs (
    number           INTEGER PRIMARY KEY,
    job_id           TEXT NOT NULL UNIQUE,
    lane_id          INTEGER NOT NULL REFERENCES lanes,
    payload_id       INTEGER NOT NULL REFERENCES payloads,
    status           TEXT NOT NULL,
    priority         INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    position         INTEGER NOT NULL,
    terms            TEXT NOT NULL,
    attempt          INTEGER NOT NULL DEFAULT 0,
    generation       INTEGER NOT NULL DEFAULT 1,
    gated            INTEGER NOT NULL DEFAULT 0,
    dedup_key        TEXT,
    created_at       INTEGER NOT NULL,
    queued_at        INTEGER,
    limited_since    INTEGER,
    waited_on        TEXT NOT NULL DEFAULT '[]',
    due_at           INTEGER,
    scheduled_for    INTEGER,
    chain            INTEGER NOT NULL,
    retry_of         INTEGER,
    retry_state      TEXT NOT NULL DEFAULT 'none'
                     CHECK (retry_state = 'none' OR retry_state = 'scheduled'
                            OR retry_state = 'exhausted' OR retry_state = 'suppressed'),
    template_id      TEXT,
    schedule_id      TEXT,
    fire_time        INTEGER,
    group_id         TEXT,
    group_place      INTEGER,
    open_deps        INTEGER NOT NULL DEFAULT 0 CHECK (open_deps >= 0),
    approval         TEXT CHECK (approval = 'PENDING' OR approval = 'APPROVED' OR approval = 'REJECTED'),
    wait_kind        TEXT,
    wait_detail      TEXT,
    cancel           TEXT CHECK (cancel = 'asked' OR cancel = 'forced'),
    worker_id        TEXT,
    claim_expires_at INTEGER,
    denials          INTEGER NOT NULL DEFAULT 0,
    run_id           TEXT,
    progress         TEXT,
    unique_key       TEXT,
    idempotency_key  TEXT,
    request_hash     TEXT,
    started_at       INTEGER,
    finished_at      INTEGER,
    exit_code        INTEGER,
    -- 0 waits, 1 claimed, 2 runs, 3 ended. A status that is not listed is refused.
    phase            INTEGER NOT NULL GENERATED ALWAYS AS (CASE status
        WHEN 'QUEUED' THEN 0 WHEN 'WAITING_ON_DEPS' THEN 0 WHEN 'WAITING_ON_APPROVAL' THEN 0
        WHEN 'WAITING_ON_LOCKS' THEN 0
        WHEN 'CLAIMED' THEN 1 WHEN 'PREPARING' THEN 1 WHEN 'LEASE_PENDING' THEN 1
        WHEN 'RUNNING' THEN 2 WHEN 'SUSPENDED' THEN 4
        WHEN 'SUCCEEDED' THEN 3 WHEN 'FAILED' THEN 3 WHEN 'SKIPPED' THEN 3 WHEN 'TIMEOUT' THEN 3
        WHEN 'CANCELLED' THEN 3 WHEN 'BLOCKED_BY_DEPENDENCY' THEN 3 WHEN 'BLOCKED_BY_APPROVAL' THEN 3
        END) STORED, blocked_by TEXT, delayed INTEGER NOT NULL DEFAULT 0, lane_mark INTEGER NOT NULL DEFAULT 0, first_job INTEGER NOT NULL GENERATED ALWAYS AS (abs(chain)) VIRTUAL, history INTEGER NOT NULL GENERATED ALWAYS AS (chain < 0) VIRTUAL, parent INTEGER, journal INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, start_by INTEGER,
    CONSTRAINT ended_exactly_if_finished_at CHECK ((finished_at IS NOT NULL) = (phase = 3)),
    CONSTRAINT claimed_exactly_if_claim_expires CHECK ((claim_expires_at IS NOT NULL) = (phase = 1)),
    CONSTRAINT running_has_a_run CHECK (phase <> 2 OR (run_id IS NOT NULL AND started_at IS NOT NULL)),
    CONSTRAINT only_queued_jobs_are_due CHECK (due_at IS NULL OR status = 'QUEUED' OR status = 'SUSPENDED')
);

CREATE INDEX jobs_ready ON jobs (lane_id, priority DESC, position, number)
    WHERE status = 'QUEUED' AND due_at IS NULL;

CREATE INDEX jobs_in_queue_order ON jobs (priority DESC, position, number)
    WHERE phase = 0;

CREATE INDEX jobs_active ON jobs (number) WHERE finished_at IS NULL;

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
    tag        TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    PRIMARY KEY (tag, job_number)
) WITHOUT ROWID;

CREATE TABLE runs (
    run_id      TEXT PRIMARY KEY,
    job_number  INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    status      TEXT CHECK (status = 'COMPLETED' OR status = 'FAILED' OR status = 'SKIPPED' OR status = 'SUSPENDED'),
    payload_id  INTEGER NOT NULL,
    worker_id   TEXT,
    lease_state TEXT CHECK (lease_state = 'ACTIVE' OR lease_state = 'EXPIRED' OR lease_state = 'RELEASED'),
    ttl_ms      INTEGER,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    exit_code   INTEGER,
    error       TEXT,
    result      TEXT,
    artifacts   TEXT,
    report_hash TEXT, output_at TEXT,
    CONSTRAINT ended_exactly_if_finished_at CHECK ((status IS NULL) = (finished_at IS NULL))
) WITHOUT ROWID;

CREATE INDEX runs_by_job ON runs (job_number);

CREATE TABLE leases (
    job_number INTEGER PRIMARY KEY,
    lease_id   TEXT NOT NULL UNIQUE,
    lane_id    INTEGER NOT NULL,
    worker_id  TEXT NOT NULL,
    ttl_ms     INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    deadline   INTEGER,
    progress   TEXT
);

CREATE INDEX leases_by_expiry ON leases (expires_at);

CREATE TABLE dependencies (
    job_number INTEGER NOT NULL,
    chain      INTEGER NOT NULL,
    policy     TEXT NOT NULL CHECK (policy = 'success' OR policy = 'finished' OR policy = 'failure'),
    met        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (chain, job_number, policy)
) WITHOUT ROWID;

CREATE INDEX dependencies_by_job ON dependencies (job_number, chain);

CREATE TABLE needs (
    artifact   TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    PRIMARY KEY (artifact, job_number)
) WITHOUT ROWID;

CREATE TABLE produces (
    artifact   TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    PRIMARY KEY (artifact, job_number)
) WITHOUT ROWID;

CREATE TABLE markers (
    artifact   TEXT PRIMARY KEY,
    job_number INTEGER,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE watches (
    what       TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    PRIMARY KEY (what, job_number)
) WITHOUT ROWID;

CREATE INDEX watches_by_job ON watches (job_number);

CREATE TABLE locks (
    key        TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    mode       TEXT NOT NULL CHECK (mode IN ('shared', 'exclusive')),
    since      INTEGER NOT NULL,
    PRIMARY KEY (key, job_number)
) WITHOUT ROWID;

CREATE INDEX locks_by_job ON locks (job_number);

CREATE TABLE lock_waiters (
    key        TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    mode       TEXT NOT NULL CHECK (mode IN ('shared', 'exclusive')),
    standing   INTEGER NOT NULL CHECK (standing IN (0, 1, 2)),
    lane_id    INTEGER NOT NULL,
    priority   INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    PRIMARY KEY (key, job_number)
) WITHOUT ROWID;

CREATE INDEX lock_waiters_in_order
    ON lock_waiters (key, mode, standing, lane_id, priority DESC, position, job_number);

CREATE INDEX lock_waiters_by_job ON lock_waiters (job_number);

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    job_number INTEGER,
    data       TEXT
);

CREATE INDEX events_by_job ON events (job_number, seq) WHERE job_number IS NOT NULL;

CREATE INDEX events_without_job ON events (seq) WHERE job_number IS NULL;

CREATE TABLE limits (
    name TEXT PRIMARY KEY,
    size INTEGER CHECK (size >= 0),
    rate TEXT
) WITHOUT ROWID;

CREATE TABLE rate_uses (
    name       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    job_number INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    PRIMARY KEY (name, at, job_number)
) WITHOUT ROWID;

CREATE TABLE pauses (
    queue    TEXT NOT NULL,
    job_type TEXT NOT NULL,
    since    INTEGER NOT NULL,
    PRIMARY KEY (queue, job_type)
) WITHOUT ROWID;

CREATE TABLE workers (
    worker_id       TEXT PRIMARY KEY,
    token_id        TEXT,
    host            TEXT NOT NULL,
    pid             INTEGER NOT NULL,
    process_started TEXT NOT NULL,
    built_in        INTEGER NOT NULL,
    abilities       TEXT NOT NULL,
    slots           INTEGER NOT NULL,
    first_seen      INTEGER NOT NULL,
    last_seen       INTEGER NOT NULL
, left_at INTEGER, draining_since INTEGER, data_id TEXT, data TEXT, url TEXT) WITHOUT ROWID;

CREATE TABLE templates (
    template_id TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    status      TEXT NOT NULL CHECK (status IN ('ACTIVE', 'ARCHIVED')),
    body        TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE schedules (
    schedule_id TEXT PRIMARY KEY,
    template_id TEXT NOT NULL REFERENCES templates,
    next_at     INTEGER,
    body        TEXT NOT NULL
, app TEXT) WITHOUT ROWID;

CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE fires (
    schedule_id TEXT NOT NULL,
    fire_time   INTEGER NOT NULL,
    job_number  INTEGER,
    PRIMARY KEY (schedule_id, fire_time)
) WITHOUT ROWID;

CREATE TABLE groups (
    group_id   TEXT PRIMARY KEY,
    name       TEXT,
    mode       TEXT NOT NULL CHECK (mode IN ('sequential', 'parallel')),
    on_failure TEXT NOT NULL CHECK (on_failure IN ('stop', 'continue', 'skip')),
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
, chain INTEGER, on_complete TEXT, on_complete_job TEXT) WITHOUT ROWID;

CREATE TABLE webhooks (
    webhook_id TEXT PRIMARY KEY,
    url        TEXT NOT NULL,
    events     TEXT NOT NULL,
    secret     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE deliveries (
    delivery_id     TEXT PRIMARY KEY,
    webhook_id      TEXT,
    url             TEXT NOT NULL,
    event           TEXT NOT NULL,
    job_number      INTEGER NOT NULL,
    job_id          TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    due_at          INTEGER,
    payload         TEXT NOT NULL,
    last_error      TEXT,
    response_status INTEGER,
    created_at      INTEGER NOT NULL,
    delivered_at    INTEGER, origin TEXT,
    CONSTRAINT pending_exactly_if_due CHECK ((status = 'PENDING') = (due_at IS NOT NULL))
) WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX deliveries_by_job ON deliveries (job_number);

CREATE TABLE reservations (
    reservation_id TEXT PRIMARY KEY,
    reserved_by    TEXT NOT NULL,
    server         TEXT,
    state          TEXT NOT NULL CHECK (state IN ('ACTIVE', 'RELEASED', 'EXPIRED')),
    running        INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    ended_at       INTEGER
) WITHOUT ROWID;

CREATE UNIQUE INDEX one_active_reservation ON reservations (state) WHERE state = 'ACTIVE';

CREATE TABLE direct_requests (
    request_id  TEXT PRIMARY KEY,
    job_type    TEXT NOT NULL,
    status      TEXT NOT NULL,
    error       TEXT,
    waited_ms   INTEGER NOT NULL,
    duration_ms INTEGER,
    created_at  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tokens (
    token_id   TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('read', 'submit', 'work', 'admin')),
    digest     TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
, last_used_at INTEGER) WITHOUT ROWID;

CREATE TABLE unsettled (
    job_number INTEGER PRIMARY KEY
);

CREATE INDEX workers_draining ON workers (worker_id) WHERE draining_since IS NOT NULL;

CREATE INDEX lanes_closed ON lanes (lane_id) WHERE closed IS NOT NULL;

CREATE TABLE lane_waits (
    lane_id INTEGER NOT NULL REFERENCES lanes,
    mark    INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (lane_id, mark)
) WITHOUT ROWID;

CREATE INDEX workers_there ON workers (worker_id) WHERE left_at IS NULL;

CREATE INDEX deliveries_due_by_origin ON deliveries (origin, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE audit (
    entry_id TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    actor    TEXT NOT NULL,
    role     TEXT,
    token_id TEXT,
    action   TEXT NOT NULL,
    target   TEXT
) WITHOUT ROWID;

CREATE INDEX jobs_history ON jobs (first_job, number) WHERE history = 1;

CREATE INDEX jobs_by_lane ON jobs (lane_id, number);

CREATE INDEX jobs_by_moment ON jobs (created_at);

CREATE INDEX jobs_by_template ON jobs (template_id, number) WHERE template_id IS NOT NULL;

CREATE INDEX jobs_behind_a_gate ON jobs (status, number) WHERE phase = 0 AND status <> 'QUEUED';

CREATE INDEX runs_that_did_not_complete ON runs (status, run_id) WHERE status = 'FAILED' OR status = 'SKIPPED';

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

CREATE INDEX jobs_start_by ON jobs (start_by)
    WHERE start_by IS NOT NULL AND started_at IS NULL AND finished_at IS NULL;

CREATE INDEX schedules_app ON schedules (app) WHERE app IS NOT NULL;

CREATE TABLE job_names (
    job_number INTEGER PRIMARY KEY,
    name       TEXT,
    words      TEXT NOT NULL
);

CREATE INDEX jobs_by_name ON job_names (name, job_number) WHERE name IS NOT NULL;

CREATE TABLE job_words (
    word       TEXT NOT NULL,
    job_number INTEGER NOT NULL,
    PRIMARY KEY (word, job_number)
) WITHOUT ROWID;

CREATE UNIQUE INDEX groups_by_chain ON groups (chain) WHERE chain IS NOT NULL;
