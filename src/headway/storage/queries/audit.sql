-- name: insert_audit
-- Entries of the audit log.
INSERT INTO audit (entry_id, at, actor, role, token_id, action, target)
VALUES (:entry_id, :at, :actor, :role, :token_id, :action, :target);

-- name: audit_entries
-- The audit log, newest first, of all or of one actor, and of all actions or one. The letter g sorts after every id.
SELECT entry_id, at, actor, role, token_id, action, target FROM audit
WHERE entry_id < coalesce(:before, 'g')
AND actor = coalesce(:actor, actor) AND action = coalesce(:action, action)
ORDER BY entry_id DESC LIMIT :count;
