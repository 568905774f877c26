"""What may be there once, the database itself keeps so: whoever looks first, and however late."""

import pytest

from headway.storage.engine.store import Store

JOB = """
INSERT INTO jobs (number, job_id, lane_id, payload_id, status, priority, position, terms, chain,
    created_at, {column}) VALUES ({number}, 'job {number}', 1, 0, 'QUEUED', 0, 0, '{{}}', 1, 0, 'k')
RETURNING number
"""
LANE = """
INSERT INTO lanes (lane_id, key, queue, job_type, cost_units, requires, limits)
VALUES (1, 'lane', 'default', 'work', 1, '[]', '{}') RETURNING lane_id
"""
LEASE = """
INSERT INTO leases (job_number, lease_id, lane_id, worker_id, ttl_ms, granted_at, expires_at)
VALUES (1, 'lease {number}', 1, 'w', 1, 0, 0) RETURNING job_number
"""
RESERVATION = """
INSERT INTO reservations (reservation_id, reserved_by, state, created_at, expires_at)
VALUES ('{number}', 'ann', 'ACTIVE', 0, 0) RETURNING reservation_id
"""
FIRE = "INSERT INTO fires (schedule_id, fire_time) VALUES ('s', 1) RETURNING fire_time"


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(JOB.replace("{column}", "idempotency_key"), id="job with an idempotency key"),
        pytest.param(JOB.replace("{column}", "unique_key"), id="active job with a unique key"),
        pytest.param(LEASE, id="lease of a job"),
        pytest.param(RESERVATION, id="active reservation"),
        pytest.param(FIRE, id="fire of a schedule"),
    ],
)
def test_the_database_itself_refuses_a_second_one(store: Store, row: str) -> None:
    first, second = (row.replace("{number}", number).replace("{{}}", "{}") for number in "12")
    store.write(lambda tx: tx.select(LANE, {}))
    store.write(lambda tx: tx.select(first, {}))
    with pytest.raises(Exception, match=r"(?i)unique"):
        store.write(lambda tx: tx.select(second, {}))
