-- name: schedule_by_id_or_name
-- One schedule.
SELECT body FROM schedules WHERE schedule_id = :name OR CAST(body AS json) ->> 'name' = :name;

-- name: schedules
-- Schedules, newest first, perhaps of one template, with their sizes. The letter g sorts after every id.
SELECT schedule_id, octet_length(body) AS size FROM schedules
WHERE schedule_id < coalesce(:before, 'g') AND template_id = coalesce(:template_id, template_id)
ORDER BY schedule_id DESC LIMIT :count;
