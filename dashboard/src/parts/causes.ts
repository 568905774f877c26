// Why jobs wait, by root cause: a job that waits for others counts for what those wait for.

import type { Job, QueueStatus } from "../types";

export interface Cause {
  key: string;
  title: string;
  jobs: Job[];
  behind: number;
}

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const TITLES: Record<string, string> = {
  ready: "A free slot",
  scheduled: "Their time: they are not due yet",
  approval: "A person's approval",
  retry: "Their next attempt",
};

/** The causes of these waiting jobs, the one that holds most jobs first. */
export function rootCauses(waiting: Job[]): Cause[] {
  const byId = new Map(waiting.map((job) => [job.job_id, job]));
  const causes = new Map<string, Cause>();
  for (const job of waiting) {
    const { root, missing } = rootOf(job, byId);
    const { key, title } = missing ? { key: missing, title: "" } : described(root);
    const cause = causes.get(key) ?? { key, title, jobs: [], behind: 0 };
    if (root === job) cause.jobs.push(job);
    else cause.behind++;
    causes.set(key, cause);
  }
  return [...causes.values()].sort((one, other) => total(other) - total(one));
}

export const total = (cause: Cause) => cause.jobs.length + cause.behind;

/** The first job in the way that waits for no job of the list, and the id it waits for if it is another. */
function rootOf(job: Job, byId: Map<string, Job>): { root: Job; missing?: string } {
  const seen = new Set<Job>();
  let at = job;
  while (at.wait_reason?.kind === "dependencies" && !seen.has(at)) {
    seen.add(at);
    const id = ID.exec(at.wait_reason.detail)?.[0];
    const next = id && byId.get(id);
    if (!next) return { root: at, missing: id };
    at = next;
  }
  return { root: at };
}

function described(job: Job): { key: string; title: string } {
  const kind = job.wait_reason?.kind ?? "ready";
  const detail = job.wait_reason?.detail ?? "";
  if (TITLES[kind]) return { key: kind, title: TITLES[kind] };
  if (kind === "limits") {
    const names = detail.split("; ").map((one) => one.split(":")[0]).join(", ");
    return { key: `${kind} ${names}`, title: `Room in the limit ${names}` };
  }
  if (kind === "locks") {
    const keys = job.locks.map((lock) => lock.key).join(", ");
    return { key: `${kind} ${keys}`, title: `The lock ${keys}` };
  }
  if (kind === "signal") return { key: `${kind} ${detail}`, title: `The signal ${detail.replace("awaiting signal ", "")}` };
  return { key: `${kind} ${detail}`, title: detail.charAt(0).toUpperCase() + detail.slice(1) };
}

/** How many wait for each kind of thing, in the whole queue. */
export function byKind(queue: QueueStatus): [kind: string, count: number][] {
  const kinds = new Map<string, number>();
  for (const one of queue.waiting) kinds.set(one.reason ?? "ready", (kinds.get(one.reason ?? "ready") ?? 0) + one.count);
  return [...kinds].sort(([, one], [, other]) => other - one);
}
