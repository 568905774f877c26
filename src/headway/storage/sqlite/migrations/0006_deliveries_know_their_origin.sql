-- An endpoint is its host and port, whatever else stands in its URL.
ALTER TABLE deliveries ADD COLUMN origin TEXT;
