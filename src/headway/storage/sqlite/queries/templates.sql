-- name: template_by_id_or_name
-- One template.
SELECT body FROM templates WHERE template_id = :name OR name = :name;

-- name: insert_template
-- A new template.
INSERT INTO templates (template_id, name, status, body) VALUES (:template_id, :name, :status, :body);

-- name: update_template
-- A changed template.
UPDATE templates SET name = :name, status = :status, body = :body WHERE template_id = :template_id;

-- name: templates
-- Templates, newest first, perhaps of one status, with their sizes. The letter g sorts after every id.
SELECT template_id, length(body) AS size FROM templates
WHERE template_id < coalesce(:before, 'g') AND status = coalesce(:status, status)
ORDER BY template_id DESC LIMIT :count;

-- name: template_bodies
-- Some templates, newest first.
SELECT body FROM templates WHERE template_id IN (SELECT value FROM json_each(:template_ids)) ORDER BY template_id DESC;
