-- name: templates_by_id_or_name
-- Some templates.
SELECT body FROM templates WHERE template_id IN :names[text]
UNION ALL
SELECT body FROM templates WHERE name IN :names[text];

-- name: insert_template
-- A new template.
INSERT INTO templates (template_id, name, status, body) VALUES (:template_id, :name, :status, :body);

-- name: update_template
-- A changed template.
UPDATE templates SET name = :name, status = :status, body = :body WHERE template_id = :template_id;

-- name: template_bodies
-- Some templates, newest first.
SELECT body FROM templates WHERE template_id IN :template_ids[text] ORDER BY template_id DESC;
