-- name: template_by_id_or_name
-- One template.
SELECT body FROM templates WHERE template_id = :name OR name = :name;

-- name: insert_template
-- A new template.
INSERT INTO templates (template_id, name, status, body) VALUES (:template_id, :name, :status, :body);

-- name: update_template
-- A changed template.
UPDATE templates SET name = :name, status = :status, body = :body WHERE template_id = :template_id;

-- name: template_bodies
-- Some templates, newest first.
SELECT body FROM templates WHERE template_id IN :template_ids[text] ORDER BY template_id DESC;
