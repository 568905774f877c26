"""The columns of tables that are read as a whole.

Queries name them, as `{jobs}` or `j.{jobs}`: then a column that a later version adds changes
neither what a server of this version reads nor the type of what it has prepared.
"""

COLUMNS = {
    "deliveries": (
        "delivery_id, webhook_id, url, event, job_number, job_id, status, attempts, due_at, "
        "payload, last_error, response_status, created_at, delivered_at, origin"
    ),
    "groups": (
        "group_id, name, mode, on_failure, created_at, ended_at, chain, "
        "on_complete, on_complete_job"
    ),
    "jobs": (
        "number, job_id, lane_id, payload_id, status, priority, position, terms, attempt, "
        "generation, gated, dedup_key, created_at, queued_at, limited_since, waited_on, "
        "lane_mark, journal, due_at, scheduled_for, first_job, retry_of, retry_state, template_id, "
        "schedule_id, fire_time, group_id, group_place, open_deps, approval, wait_kind, "
        "wait_detail, cancel, worker_id, claim_expires_at, denials, run_id, progress, "
        "unique_key, idempotency_key, request_hash, started_at, finished_at, exit_code, phase, "
        "blocked_by, delayed, history, parent, crashes, start_by"
    ),
    "lanes": ("lane_id, key, queue, job_type, cost_units, requires, limits, mark, closed"),
    "leases": (
        "job_number, lease_id, lane_id, worker_id, ttl_ms, granted_at, expires_at, deadline, "
        "progress"
    ),
    "reservations": (
        "reservation_id, reserved_by, server, state, running, created_at, expires_at, ended_at"
    ),
    "runs": (
        "run_id, job_number, attempt, generation, status, payload_id, worker_id, lease_state, "
        "ttl_ms, started_at, finished_at, exit_code, error, result, artifacts, report_hash, "
        "output_at"
    ),
    "tokens": ("token_id, name, role, digest, created_at, expires_at, revoked_at, last_used_at"),
    "webhooks": ("webhook_id, url, events, secret, created_at"),
    "workers": (
        "worker_id, token_id, host, pid, process_started, built_in, abilities, slots, "
        "first_seen, last_seen, left_at, draining_since, data_id, data, url"
    ),
}
