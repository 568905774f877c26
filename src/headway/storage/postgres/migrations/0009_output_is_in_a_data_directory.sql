-- Servers on one database have data directories of their own, with the output of what they ran.
ALTER TABLE runs ADD COLUMN output_at TEXT;
ALTER TABLE workers ADD COLUMN data_id TEXT;
ALTER TABLE workers ADD COLUMN data TEXT;
ALTER TABLE workers ADD COLUMN url TEXT;
