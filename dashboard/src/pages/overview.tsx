// What is going on, in five seconds.

import { useEffect } from "preact/hooks";
import { query } from "../api";
import { QUEUE_STATUS_MS, useData, useList } from "../data";
import { byKind, rootCauses, total, type Cause } from "../parts/causes";
import { Chart } from "../parts/chart";
import { noteJobs, noteTotals, recent } from "../parts/history";
import { JobLink } from "../parts/ids";
import { Ago, Bar, Card, Empty, Failure, Meter, Until, Work } from "../parts/ui";
import type { Job, Page, QueueStatus, Schedule, SchedulerStatus, Worker } from "../types";
import { count, ENDED, FAILED, firstLine, lower, quick, serverNow, span, took, work } from "../words";

const WAIT_WORDS: Record<string, string> = {
  ready: "for a free slot",
  scheduled: "for their time",
  dependencies: "for other jobs",
  approval: "for an approval",
  locks: "for locks",
  limits: "for a full limit",
  paused: "because of a pause",
  reservation: "for a reserved slot",
  worker: "for a worker that fits",
  pinned_head: "for a commit",
};
const SLOWLY_MS = 5000;
const QUEUE_MS = 2000;
const SAMPLE = 200;
const MOST_CAUSES = 7;
const MOST_NAMED = 3;

export function Overview() {
  const whole = useData<SchedulerStatus>("/api/scheduler/status");
  const queue = useData<QueueStatus>("/api/queue/status", QUEUE_STATUS_MS).value;
  const workers = (useData<Page<Worker>>("/api/workers", QUEUE_MS).value?.items ?? []).filter((worker) => !worker.gone);
  const schedules = useData<Page<Schedule>>("/api/schedules?limit=200", SLOWLY_MS).value?.items ?? [];
  const status = whole.value;
  if (!status) return <><h1>Overview</h1><Failure problem={whole.problem} />{!whole.problem && <Empty>Loading…</Empty>}</>;
  const isFresh = !status.queue_length && !status.current_jobs.length && Object.values(status.totals).every((one) => !one);
  return (
    <>
      <h1>Overview</h1>
      <Failure problem={whole.problem} />
      <Totals status={status} queue={queue} workers={workers} />
      {isFresh && <Welcome />}
      <div class="halves">
        <div class="stack">
          <Card title="Running" more={<a href="/jobs?status=running">All</a>}>
            <Running queue={queue} workers={workers} />
          </Card>
          <History status={status} />
          <Card title="Workers" more={<a href="/workers">All</a>}>
            <Workers workers={workers} />
          </Card>
        </div>
        <div class="stack">
          <Card title="Why jobs wait" more={<a href="/jobs?order=queue">Queue</a>}>
            <Waiting queue={queue} />
          </Card>
          <Card title="What fails most" more={<a href={`/jobs?status=${FAILED}`}>All</a>}>
            <Failing />
          </Card>
          <Card title="Next fires" more={<a href="/schedules">Schedules</a>}>
            <Fires schedules={schedules} />
          </Card>
        </div>
      </div>
    </>
  );
}

function Totals({ status, queue, workers }: { status: SchedulerStatus; queue?: QueueStatus; workers: Worker[] }) {
  const { totals } = status;
  const failed = (totals.failed ?? 0) + (totals.timeout ?? 0) + (totals.blocked ?? 0);
  const slots = workers.filter((worker) => worker.alive).reduce((sum, worker) => sum + worker.slots, 0);
  const asks = queue?.waiting.filter((one) => one.reason === "approval").reduce((sum, one) => sum + one.count, 0) ?? 0;
  const oldest = queue?.waiting.map((one) => one.oldest).sort()[0];
  const tiles: [name: string, number: number, tone: string, to: string, note: string][] = [
    ["Running", status.current_jobs.length, "busy", "/jobs?status=running", `of ${count(slots)} slots`],
    ["Waiting", status.queue_length, "wait", "/jobs?order=queue", oldest ? `oldest ${span(serverNow() - Date.parse(oldest))}` : "nothing waits"],
    ["To approve", asks, "wait", "/jobs?status=waiting_on_approval", asks ? "waits for a person" : "nothing to decide"],
    ["Failed", failed, "bad", `/jobs?status=${FAILED}`, "since the start"],
    ["Succeeded", (totals.succeeded ?? 0) + (totals.skipped ?? 0), "good", "/jobs?status=succeeded,skipped", "since the start"],
  ];
  return (
    <ul class="tiles">
      {tiles.map(([name, number, tone, to, note]) => (
        <li key={name}><a href={to}><span>{name}</span> <strong class={number ? tone : ""}>{count(number)}</strong> <small>{note}</small></a></li>
      ))}
    </ul>
  );
}

function Welcome() {
  return (
    <Card title="Nothing has been submitted yet">
      <p>A job is a Python function or a command. Submit the first one here with <kbd>n</kbd>, or in a terminal:</p>
      <pre class="json">{"headway submit command 'argv=[\"echo\", \"hello\"]'\nheadway run -- make test"}</pre>
    </Card>
  );
}

function Running({ queue, workers }: { queue?: QueueStatus; workers: Worker[] }) {
  const running = useList<Job>("/api/jobs?status=running&limit=20", (job) => job.number).value ?? [];
  if (!running.length) return <Nothing queue={queue} workers={workers} />;
  return (
    <ul class="list">
      {running.slice(0, 10).map((job) => (
        <li key={job.number}>
          <a href={`/jobs/${job.number}`}>{job.number}</a> <Work job={job} />
          <span class="grow" />
          {job.progress && <Bar value={job.progress.fraction} label={`Progress of job ${job.number}`} />}
          <span class="number spans">{took(job)}</span>
        </li>
      ))}
    </ul>
  );
}

function Nothing({ queue, workers }: { queue?: QueueStatus; workers: Worker[] }) {
  if (!queue) return <Empty>Loading…</Empty>;
  if (!queue.length) return <Empty>Nothing runs, and nothing waits.</Empty>;
  if (!workers.some((worker) => worker.alive)) return <Empty>Nothing runs: no worker is connected.</Empty>;
  if (queue.paused.some((one) => !one.queue && !one.job_type)) return <Empty>Nothing runs: everything is paused.</Empty>;
  return <Empty>Nothing runs at the moment. See what the waiting jobs wait for.</Empty>;
}

function Waiting({ queue }: { queue?: QueueStatus }) {
  const page = useData<Page<Job>>(`/api/queue?limit=${SAMPLE}`, QUEUE_MS).value;
  const suspended = useData<Page<Job>>(`/api/jobs?status=suspended&limit=${SAMPLE}`, QUEUE_MS).value;
  if (!queue || !page || !suspended) return <Empty>Loading…</Empty>;
  const causes = rootCauses([...page.items, ...suspended.items]);
  if (!causes.length) return <Empty>Nothing waits.</Empty>;
  const most = Math.max(1, ...causes.map(total));
  return (
    <>
      <ul class="causes">
        {causes.slice(0, MOST_CAUSES).map((cause) => <CauseRow key={cause.key} cause={cause} most={most} />)}
      </ul>
      {page.next_cursor && (
        <p class="soft">
          The first {count(page.items.length)} in line. In all, {byKind(queue).map(([kind, number]) => `${count(number)} wait ${WAIT_WORDS[kind] ?? `for ${lower(kind)}`}`).join(", ")}.
        </p>
      )}
    </>
  );
}

function CauseRow({ cause, most }: { cause: Cause; most: number }) {
  const named = cause.jobs.slice(0, MOST_NAMED);
  return (
    <li>
      <span class="title">{cause.title ? <bdi>{cause.title}</bdi> : <>The end of job <JobLink id={cause.key} /></>}</span>
      <Meter value={total(cause)} most={most} label={`${total(cause)} jobs`} />
      <span class="number">{count(total(cause))}</span>
      <span class="soft">
        {named.length > 0 && (named.length > 1 ? "jobs " : "job ")}
        {named.map((job, place) => <span key={job.number}>{place > 0 && ", "}<a href={`/jobs/${job.number}`}>{job.number}</a></span>)}
        {cause.jobs.length > named.length && ` and ${count(cause.jobs.length - named.length)} more`}
        {cause.behind > 0 && `${named.length ? "; " : ""}${count(cause.behind)} behind ${named.length === 1 ? "it" : "them"}`}
      </span>
    </li>
  );
}

function Failing() {
  const jobs = useData<Page<Job>>(query("/api/jobs", { status: "failed,timeout", limit: SAMPLE }), SLOWLY_MS).value?.items;
  if (!jobs) return <Empty>Loading…</Empty>;
  if (!jobs.length) return <Empty>Nothing has failed.</Empty>;
  const kinds = new Map<string, Job[]>();
  for (const job of jobs) {
    const key = `${job.job_type === "command" ? work(job).name : job.job_type}\n${firstLine(job.error ?? lower(job.status))}`;
    kinds.set(key, [...(kinds.get(key) ?? []), job]);
  }
  const sorted = [...kinds].sort(([, one], [, other]) => other.length - one.length).slice(0, 6);
  return (
    <ul class="list">
      {sorted.map(([key, of]) => {
        const [name, error] = key.split("\n");
        return (
          <li key={key}>
            <span class="number times">{count(of.length)}×</span>
            <span class="two"><bdi class="work">{name}</bdi><bdi class="work note bad" title={error}>{error}</bdi></span>
            <span class="grow" />
            <a href={`/jobs/${of[0]!.number}`}>{of[0]!.number}</a> <span class="number spans"><Ago at={of[0]!.finished_at} /></span>
          </li>
        );
      })}
    </ul>
  );
}

function Fires({ schedules }: { schedules: Schedule[] }) {
  const next = schedules.filter((one) => one.enabled && one.next_trigger_at).sort((one, other) => one.next_trigger_at!.localeCompare(other.next_trigger_at!));
  if (!next.length) return <Empty>No schedule is on.</Empty>;
  return (
    <ul class="list">
      {next.slice(0, 6).map((one) => (
        <li key={one.schedule_id}><a href={`/schedules#${one.schedule_id}`} class="work"><bdi>{one.name ?? one.schedule_id}</bdi></a><span class="grow" /><span class="number"><Until at={one.next_trigger_at} /></span></li>
      ))}
    </ul>
  );
}

function Workers({ workers }: { workers: Worker[] }) {
  if (!workers.length) return <Empty>No worker is connected: nothing can start.</Empty>;
  return (
    <ul class="list">
      {workers.slice(0, 8).map((worker) => (
        <li key={worker.worker_id}>
          <span class={worker.alive ? "dot good" : "dot bad"} aria-hidden="true" />
          <bdi class="work">{worker.worker_id}</bdi>
          <span class="grow" />
          {!worker.alive && <span class="bad">silent</span>}
          {worker.draining_since && <span class="soft">draining</span>}
          <Meter value={worker.holds.length} most={worker.slots} label={`${worker.holds.length} of ${worker.slots} slots`} />
          <span class="number">{worker.holds.length} / {worker.slots}</span>
        </li>
      ))}
    </ul>
  );
}

function History({ status }: { status: SchedulerStatus }) {
  const ended = useData<Page<Job>>(query("/api/jobs", { status: ENDED, limit: SAMPLE }), SLOWLY_MS).value;
  useEffect(() => noteTotals(status), [status]);
  useEffect(() => {
    if (ended) noteJobs(ended);
  }, [ended, status]);
  const past = recent();
  const sum = (values: (number | null)[]) => Math.round(values.reduce<number>((all, one) => all + (one ?? 0), 0));
  const slowest = Math.max(0, ...past.slow.map((one) => one ?? 0));
  const times = (seconds: number) => quick(seconds * 1000);
  return (
    <>
      <Card title={`Ended in the last ${past.minutes} minutes`} more={<span class="soft">{count(sum(past.ended))} ended, {count(sum(past.failed))} failed</span>}>
        <Chart kind="bars" at={past.at} unit={(value) => count(value)} label={`${sum(past.ended)} jobs ended in the last ${past.minutes} minutes, ${sum(past.failed)} failed`}
          series={[{ name: "succeeded", tone: "good", values: past.ended }, { name: "failed", tone: "bad", values: past.failed }]} />
      </Card>
      <Card title="How long jobs waited" more={<span class="soft">until they started</span>}>
        <Chart kind="lines" at={past.at} unit={times} label={`The slowest jobs waited ${times(slowest)} in the last ${past.minutes} minutes`}
          series={[{ name: "slowest 5 %", tone: "wait", values: past.slow }, { name: "half of the jobs", tone: "busy", values: past.middle }]} />
      </Card>
    </>
  );
}

