-- Endpoints that answered lately are served first, however many messages to others are due.
CREATE INDEX deliveries_due_by_origin ON deliveries (origin, due_at) WHERE due_at IS NOT NULL;
