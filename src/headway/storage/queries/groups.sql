-- name: group_by_id
-- One group.
SELECT {groups} FROM groups WHERE group_id = :group_id;

-- name: group_by_name
-- The newest group of a name.
SELECT {groups} FROM groups WHERE name = :name ORDER BY group_id DESC LIMIT 1;

-- name: groups_by_chain
-- The groups that stand under these numbers among the dependencies.
SELECT {groups} FROM groups WHERE chain IN :chains[bigint];

-- name: chains_of_groups
-- Under which numbers these groups stand among the dependencies.
SELECT chain FROM groups WHERE group_id IN :group_ids[text] AND chain IS NOT NULL;

-- name: set_group_chain
-- A job comes after the group: it stands under this number among the dependencies.
UPDATE groups SET chain = :chain WHERE group_id = :group_id;

-- name: insert_group
-- A new group.
INSERT INTO groups (group_id, name, mode, on_failure, created_at, on_complete)
VALUES (:group_id, :name, :mode, :on_failure, :created_at, :on_complete);

-- name: group_completed
-- The job that is made when the group ends was made.
UPDATE groups SET on_complete_job = :job_id WHERE group_id = :group_id;

-- name: end_group
-- Every member has ended.
UPDATE groups SET ended_at = :ended_at WHERE group_id = :group_id;

-- name: reopen_group
-- A member runs again.
UPDATE groups SET ended_at = NULL WHERE group_id = :group_id;

-- name: group_members
-- The jobs of a group in order, retries included.
SELECT number, job_id, chain, status, group_place FROM jobs WHERE group_id = :group_id ORDER BY group_place, number;

-- name: active_member
-- Whether a member has not ended: one index seek, however many have.
SELECT number FROM jobs WHERE group_id = :group_id AND finished_at IS NULL LIMIT 1;

-- name: members_of_groups
-- The first link of every member of some groups, in order.
SELECT group_id, number, job_id, chain FROM jobs
WHERE group_id IN :group_ids[text] AND retry_of IS NULL
ORDER BY group_id, group_place, number;

-- name: sizes_of_groups
-- How many jobs each of some groups has.
SELECT group_id, count(*) AS jobs FROM jobs WHERE group_id IN :group_ids[text] GROUP BY group_id;

-- name: groups
-- Groups, newest first. The letter g sorts after every id.
SELECT {groups} FROM groups WHERE group_id < coalesce(:before, 'g') ORDER BY group_id DESC LIMIT :count;

-- name: move_member
-- A member that has not started gets another place in its group and in the queue.
UPDATE jobs SET group_place = :group_place, position = :position, terms = :terms, open_deps = :open_deps
WHERE number = :number;

-- name: remove_member_dependency
-- A member no longer comes after the one that was before it.
DELETE FROM dependencies WHERE job_number = :job_number AND chain = :chain AND policy = 'finished';
