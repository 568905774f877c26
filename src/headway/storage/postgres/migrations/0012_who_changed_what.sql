-- A token shows when it was last used, give or take a minute.
ALTER TABLE tokens ADD COLUMN last_used_at BIGINT;
-- The audit log: every change by a person or a token, and refused logins. It never holds a secret.
CREATE TABLE audit (
    entry_id TEXT COLLATE "C" PRIMARY KEY,
    at       BIGINT NOT NULL,
    actor    TEXT NOT NULL,
    role     TEXT,
    token_id TEXT,
    action   TEXT NOT NULL,
    target   TEXT
);
