-- name: insert_schedule
-- A new schedule.
INSERT INTO schedules (schedule_id, template_id, next_at, body, app)
VALUES (:schedule_id, :template_id, :next_at, :body, :app);

-- name: schedules_of_app
-- The schedules that the code of an app asks for, oldest first.
SELECT body FROM schedules WHERE app = :app ORDER BY schedule_id;

-- name: update_schedule
-- A changed schedule.
UPDATE schedules SET template_id = :template_id, next_at = :next_at, body = :body WHERE schedule_id = :schedule_id;

-- name: remove_schedule
-- A schedule is gone; its jobs stay.
DELETE FROM schedules WHERE schedule_id = :schedule_id;

-- name: due_schedules
-- Schedules that fire now or should have.
SELECT body FROM schedules WHERE next_at <= :now ORDER BY next_at LIMIT :count;

-- name: next_due_schedule
-- When the next schedule fires.
SELECT min(next_at) AS at FROM schedules WHERE next_at IS NOT NULL;

-- name: insert_fire
-- Record a fire, which happens once: only the first server inserts the row.
INSERT INTO fires (schedule_id, fire_time, job_number) VALUES (:schedule_id, :fire_time, :job_number)
ON CONFLICT DO NOTHING;

-- name: set_fire_job
-- Which job a fire made.
UPDATE fires SET job_number = :job_number WHERE schedule_id = :schedule_id AND fire_time = :fire_time;

-- name: schedule_bodies
-- Some schedules, newest first.
SELECT body FROM schedules WHERE schedule_id IN :schedule_ids[text] ORDER BY schedule_id DESC;

-- name: schedules_ahead
-- Schedules that have yet to fire, by id.
SELECT body FROM schedules WHERE next_at > :now AND schedule_id > :after ORDER BY schedule_id LIMIT :count;
