// The attempts of a job: each automatic or manual retry is a job of its own.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api";
import type { Job } from "../types";
import { took } from "../words";
import { Status } from "./ui";

const MOST = 25;

export function Chain({ job }: { job: Job }) {
  const [jobs, set] = useState<Job[]>([job]);
  useEffect(() => {
    const stop = new AbortController();
    void follow(job, stop.signal).then(set, () => set([job]));
    return () => stop.abort();
  }, [job.job_id, job.retried_by, job.status]);
  if (jobs.length < 2) return null;
  return (
    <section class="card">
      <header><h2>Attempts</h2></header>
      <ol class="list">
        {jobs.map((one) => (
          <li key={one.job_id} aria-current={one.job_id === job.job_id ? "true" : undefined}>
            <span class="number times">{one.attempt + 1}.</span>
            {one.job_id === job.job_id ? <strong>job {one.number}</strong> : <a href={`/jobs/${one.number}`}>job {one.number}</a>}
            <Status status={one.status} />
            {one.error && <bdi class="note bad">{one.error}</bdi>}
            <span class="grow" />
            <span class="number">{took(one)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The jobs before and after it in its chain, the first one first. */
async function follow(job: Job, signal: AbortSignal): Promise<Job[]> {
  const chain = [job];
  while (chain[0]!.retry_of && chain.length < MOST) chain.unshift(await get<Job>(`/api/jobs/${chain[0]!.retry_of}`, signal));
  while (chain.at(-1)!.retried_by && chain.length < MOST) chain.push(await get<Job>(`/api/jobs/${chain.at(-1)!.retried_by}`, signal));
  return chain;
}
