-- Schedules of commands were written by admins or with nothing of their own; the others count as
-- written with `submit`, so that a template that becomes a command does not run what they say.
UPDATE schedules SET body = json_set(body, '$.written_by', 'admin')
WHERE template_id IN (
    SELECT template_id FROM templates WHERE json_extract(body, '$.job_type') = 'command'
);
