-- A lane counts its changes. It keeps which of the gates that close it as a whole was the first closed one,
-- and a job keeps at which count it became ready: the waits since then are its own.
ALTER TABLE lanes ADD COLUMN mark bigint NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN closed text;
ALTER TABLE jobs ADD COLUMN lane_mark bigint NOT NULL DEFAULT 0;
CREATE INDEX lanes_closed ON lanes (lane_id) WHERE closed IS NOT NULL;
CREATE TABLE lane_waits (
    lane_id bigint NOT NULL,
    mark    bigint NOT NULL,
    kind    text NOT NULL,
    since   bigint NOT NULL,
    PRIMARY KEY (lane_id, mark)
);
