-- Schedules of commands were written by admins or with nothing of their own; the others count as
-- written with `submit`, so that a template that becomes a command does not run what they say.
UPDATE schedules SET body = jsonb_set(body::jsonb, '{written_by}', '"admin"')::text
WHERE template_id IN (
    SELECT template_id FROM templates WHERE body::jsonb ->> 'job_type' = 'command'
);
