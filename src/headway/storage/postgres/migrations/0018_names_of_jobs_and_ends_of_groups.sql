-- Jobs that have a name or tags: the name, and the words by which a search finds them, with spaces around each.
CREATE TABLE job_names (
    job_number BIGINT PRIMARY KEY,
    name       TEXT,
    words      TEXT NOT NULL
);
CREATE INDEX jobs_by_name ON job_names (name, job_number) WHERE name IS NOT NULL;

-- Words are looked up by how they begin: in the order of their bytes, whatever the language of the database is.
CREATE TABLE job_words (
    word       TEXT COLLATE "C" NOT NULL,
    job_number BIGINT NOT NULL,
    PRIMARY KEY (word, job_number)
);

-- A group that a job comes after stands among the dependencies as a chain with a number below zero.
ALTER TABLE groups ADD COLUMN chain BIGINT;
CREATE UNIQUE INDEX groups_by_chain ON groups (chain) WHERE chain IS NOT NULL;

-- The job that is made when the group ends, as it was planned, and its id once it was made.
ALTER TABLE groups ADD COLUMN on_complete TEXT;
ALTER TABLE groups ADD COLUMN on_complete_job TEXT;
