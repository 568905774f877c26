-- Jobs that have a name or tags: the name, and the words by which a search finds them, with spaces around each.
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
