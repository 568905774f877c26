-- name: schedule_by_id_or_name
-- One schedule.
SELECT body FROM schedules WHERE schedule_id = :name OR body ->> 'name' = :name;

-- name: insert_schedule
-- A new schedule.
INSERT INTO schedules (schedule_id, template_id, next_at, body) VALUES (:schedule_id, :template_id, :next_at, :body);

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
-- A fire happens once, whoever sees it first.
INSERT INTO fires (schedule_id, fire_time, job_number) VALUES (:schedule_id, :fire_time, :job_number)
ON CONFLICT DO NOTHING;

-- name: set_fire_job
-- Which job a fire made.
UPDATE fires SET job_number = :job_number WHERE schedule_id = :schedule_id AND fire_time = :fire_time;

-- name: schedules
-- Schedules, newest first, perhaps of one template, with their sizes. The letter g sorts after every id.
SELECT schedule_id, length(body) AS size FROM schedules
WHERE schedule_id < coalesce(:before, 'g') AND template_id = coalesce(:template_id, template_id)
ORDER BY schedule_id DESC LIMIT :count;

-- name: schedule_bodies
-- Some schedules, newest first.
SELECT body FROM schedules WHERE schedule_id IN (SELECT value FROM json_each(:schedule_ids)) ORDER BY schedule_id DESC;

-- name: schedules_ahead
-- Schedules that have yet to fire, by id.
SELECT body FROM schedules WHERE next_at > :now AND schedule_id > :after ORDER BY schedule_id LIMIT :count;
