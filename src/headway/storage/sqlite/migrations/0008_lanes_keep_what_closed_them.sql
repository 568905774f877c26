-- A lane counts its changes. It keeps which of the gates that close it as a whole was the first closed one,
-- and a job keeps at which count it became ready: the waits since then are its own.
ALTER TABLE lanes ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN closed TEXT;
ALTER TABLE jobs ADD COLUMN lane_mark INTEGER NOT NULL DEFAULT 0;
CREATE INDEX lanes_closed ON lanes (lane_id) WHERE closed IS NOT NULL;
CREATE TABLE lane_waits (
    lane_id INTEGER NOT NULL REFERENCES lanes,
    mark    INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (lane_id, mark)
) WITHOUT ROWID;
