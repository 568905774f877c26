-- name: templates
-- Templates, newest first, perhaps of one status, with their sizes. The letter g sorts after every id.
SELECT template_id, octet_length(body) AS size FROM templates
WHERE template_id < coalesce(:before, 'g') AND status = coalesce(:status, status)
ORDER BY template_id DESC LIMIT :count;
