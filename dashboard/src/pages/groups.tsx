// Groups: jobs that belong together, and how they went.

import { change } from "../api";
import { useData, useList } from "../data";
import { tick } from "../live";
import { Ago, Button, Empty, Failure, More, Status } from "../parts/ui";
import type { Group } from "../types";
import { count, hasEnded, lower, tone } from "../words";

const MOST_IN_LIST = 80;
const MOST_ALONE = 2000;

export function Groups({ id }: { id?: string }) {
  const list = useList<Group>("/api/job-groups?limit=50", (group) => group.group_id);
  const one = useData<Group>(id ? `/api/job-groups/${encodeURIComponent(id)}` : null);
  const groups = id ? (one.value ? [one.value] : []) : list.value ?? [];
  return (
    <>
      <h1>{id ? "Group" : "Groups"}</h1>
      {id && <p><a class="named" href="/groups">All groups</a></p>}
      <Failure problem={id ? one.problem : list.problem} />
      {!id && list.value?.length === 0 && <Empty>There is no group. A group is several jobs that are watched and cancelled together; <code>headway groups create</code> makes one.</Empty>}
      <ul class="rows">
        {groups.map((group) => <GroupRow key={group.group_id} group={group} most={id ? MOST_ALONE : MOST_IN_LIST} />)}
      </ul>
      {!id && <More load={list.more} busy={list.isLoading} />}
    </>
  );
}

function GroupRow({ group, most }: { group: Group; most: number }) {
  const open = group.members.filter((member) => !hasEnded(member.status)).length;
  const cancel = async () => {
    await change("POST", `/api/job-groups/${group.group_id}/cancel`, {});
    tick();
  };
  return (
    <li class="card">
      <header>
        <h2><a href={`/groups/${group.group_id}`}><bdi>{group.name ?? group.group_id.slice(-12)}</bdi></a> <Status status={group.status} /></h2>
        {open > 0 && <Button needs="submit" kind="danger" onClick={cancel}>Cancel</Button>}
      </header>
      <p class="soft">
        {count(group.members.length - open)} of {count(group.members.length)} jobs ended; {group.mode}; when one fails: {lower(group.on_failure)}; made <Ago at={group.created_at} />. <a href={`/jobs?group_id=${group.group_id}`}>List them</a>
      </p>
      <div class="strip">
        {group.members.slice(0, most).map((member) => (
          <a key={member.job_id} href={`/jobs/${member.number ?? member.job_id}`} class={tone(member.status)} title={`${member.number}: ${lower(member.status)}`} aria-label={`job ${member.number}: ${lower(member.status)}`} />
        ))}
        {group.members.length > most && <span class="soft">and {count(group.members.length - most)} more</span>}
      </div>
    </li>
  );
}
