-- name: webhooks
-- Every registered endpoint.
SELECT {webhooks} FROM webhooks ORDER BY webhook_id DESC;

-- name: webhooks_before
-- Registered endpoints, newest first. The letter g sorts after every id.
SELECT {webhooks} FROM webhooks WHERE webhook_id < coalesce(:before, 'g') ORDER BY webhook_id DESC LIMIT :count;

-- name: webhook_by_id
-- One endpoint.
SELECT {webhooks} FROM webhooks WHERE webhook_id = :webhook_id;

-- name: insert_webhook
-- A new endpoint.
INSERT INTO webhooks (webhook_id, url, events, secret, created_at)
VALUES (:webhook_id, :url, :events, :secret, :created_at);

-- name: remove_webhook
-- An endpoint is gone; what was not delivered to it fails.
DELETE FROM webhooks WHERE webhook_id = :webhook_id;

-- name: fail_deliveries_of_webhook
-- Nothing more is sent to an endpoint that was removed.
UPDATE deliveries SET status = 'FAILED', due_at = NULL, last_error = 'the webhook was removed'
WHERE webhook_id = :webhook_id AND status = 'PENDING';

-- name: insert_delivery
-- A message to be sent.
INSERT INTO deliveries (delivery_id, webhook_id, url, origin, event, job_number, job_id, status, due_at, payload, created_at)
VALUES (:delivery_id, :webhook_id, :url, :origin, :event, :job_number, :job_id, 'PENDING', :due_at, :payload, :created_at);

-- name: due_deliveries
-- Messages whose turn has come behind a place, without those to origins that take no more just now.
-- A server of an earlier version writes no origin.
SELECT d.delivery_id, d.url, d.due_at FROM deliveries d
WHERE d.due_at <= :now AND (d.origin IS NULL OR d.origin NOT IN :full_origins[text])
AND (d.due_at, d.delivery_id) > (:due_at, :delivery_id)
ORDER BY d.due_at, d.delivery_id LIMIT :count;

-- name: due_deliveries_to
-- Messages to some origins whose turn has come.
SELECT d.delivery_id, d.url, d.due_at FROM deliveries d WHERE d.due_at <= :now AND d.origin IN :origins[text]
ORDER BY d.due_at, d.delivery_id LIMIT :count;

-- name: take_delivery
-- This server tries a message; no other server does until the moment given.
UPDATE deliveries SET due_at = :until WHERE delivery_id = :delivery_id AND due_at <= :now;

-- name: deliveries_to_send
-- What has to be known to send some messages.
SELECT d.delivery_id, d.webhook_id, d.url, d.payload, d.attempts, w.secret
FROM deliveries d LEFT JOIN webhooks w USING (webhook_id)
WHERE d.delivery_id IN :delivery_ids[text] ORDER BY d.delivery_id;

-- name: record_delivery
-- How a try went, unless that is no longer of interest: the webhook is gone, or it is another try's turn.
UPDATE deliveries SET status = :status, attempts = :attempts, due_at = :due_at, last_error = :last_error,
    response_status = :response_status, delivered_at = :delivered_at
WHERE delivery_id = :delivery_id AND status = 'PENDING' AND attempts = :attempts - 1;

-- name: redeliver
-- A message that was delivered or given up is sent afresh.
UPDATE deliveries SET status = 'PENDING', attempts = 0, due_at = :due_at, delivered_at = NULL
WHERE delivery_id = :delivery_id AND status <> 'PENDING';

-- name: next_delivery_after
-- When the next message is due that is not due yet.
SELECT (SELECT due_at FROM deliveries WHERE due_at > :now ORDER BY due_at LIMIT 1) AS at;

-- name: deliveries
-- Messages, newest first, perhaps of one status or job. The letter g sorts after every id.
SELECT {deliveries} FROM deliveries
WHERE delivery_id < coalesce(:before, 'g') AND status = coalesce(:status, status)
AND job_id = coalesce(:job_id, job_id)
ORDER BY delivery_id DESC LIMIT :count;

-- name: delivery_by_id
-- One message.
SELECT {deliveries} FROM deliveries WHERE delivery_id = :delivery_id;

-- name: count_deliveries
-- How many messages are in which state.
SELECT status, count(*) AS count FROM deliveries GROUP BY status;

-- name: fact
-- The value of a fact.
SELECT value FROM facts WHERE name = :name;

-- name: set_fact
-- Set a fact, unless it is set already.
INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: bring_back_deliveries
-- The clock was set back: no message waits longer than the longest delay.
UPDATE deliveries SET due_at = :latest WHERE due_at > :latest;
