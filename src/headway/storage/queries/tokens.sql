-- name: token_by_digest
-- The token that has this digest, if it is still good.
SELECT {tokens} FROM tokens WHERE digest = :digest AND revoked_at IS NULL AND coalesce(expires_at > :now, TRUE);

-- name: token_by_digest_in_any_state
-- The token that has this digest, even if it is revoked or expired.
SELECT {tokens} FROM tokens WHERE digest = :digest;

-- name: tokens_in_force
-- Those of some tokens that are neither revoked nor expired.
SELECT token_id FROM tokens
WHERE token_id IN :token_ids[text] AND revoked_at IS NULL AND coalesce(expires_at > :now, TRUE);

-- name: insert_token
-- A new token.
INSERT INTO tokens (token_id, name, role, digest, created_at, expires_at)
VALUES (:token_id, :name, :role, :digest, :created_at, :expires_at);

-- name: revoke_token
-- A token is good for nothing any more.
UPDATE tokens SET revoked_at = :revoked_at WHERE token_id = :token_id AND revoked_at IS NULL;

-- name: token_by_id
-- One token.
SELECT token_id, name, role, created_at, expires_at, revoked_at, last_used_at FROM tokens WHERE token_id = :token_id;

-- name: tokens
-- Tokens, newest first. The letter g sorts after every id.
SELECT token_id, name, role, created_at, expires_at, revoked_at, last_used_at FROM tokens
WHERE token_id < coalesce(:before, 'g') ORDER BY token_id DESC LIMIT :count;

-- name: note_token_use
-- A token was used.
UPDATE tokens SET last_used_at = :used_at WHERE token_id = :token_id AND coalesce(last_used_at < :used_at, TRUE);
