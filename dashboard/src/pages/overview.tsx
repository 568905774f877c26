// What is going on, in five seconds.

import { useEffect, useRef } from "preact/hooks";
import { useData, useList } from "../data";
import { Chart } from "../parts/chart";
import { Ago, Bar, Card, Empty, Failure, Until, Work } from "../parts/ui";
import type { Job, Page, QueueStatus, Run, Schedule, SchedulerStatus, Worker } from "../types";
import { count, firstLine, lower, took } from "../words";
import { JobIds, JobLink } from "../parts/ids";

const WAIT_WORDS: Record<string, string> = {
  ready: "for a free slot",
  scheduled: "for their time",
  dependencies: "for other jobs",
  artifacts: "for artifacts",
  approval: "for an approval",
  locks: "for locks",
  limits: "for a full limit",
  paused: "because of a pause",
  reservation: "for a reserved slot",
  worker: "for a worker that fits",
  pinned_head: "for a commit",
};

export function Overview() {
  const whole = useData<SchedulerStatus>("/api/scheduler/status");
  const queue = useData<QueueStatus>("/api/queue/status").value;
  const running = useList<Job>("/api/jobs?status=running&limit=20", (job) => job.number).value ?? [];
  const failed = useData<Page<Run>>("/api/job-runs?status=failed&limit=100").value?.items ?? [];
  const workers = (useData<Page<Worker>>("/api/workers").value?.items ?? []).filter((worker) => !worker.gone);
  const schedules = useData<Page<Schedule>>("/api/schedules?limit=200").value?.items ?? [];
  const status = whole.value;
  return (
    <>
      <h1>Overview</h1>
      <Failure problem={whole.problem} />
      {status && <Totals status={status} />}
      <div class="columns">
        <Card title="Running" more={<a href="/jobs?status=running">All</a>}>
          {running.length === 0 && <Nothing queue={queue} workers={workers} />}
          <ul class="list">
            {running.slice(0, 10).map((job) => (
              <li key={job.number}>
                <a href={`/jobs/${job.number}`}>{job.number}</a> <Work job={job} />
                <span class="grow" />
                {job.progress && <Bar value={job.progress.fraction} label={`Progress of job ${job.number}`} />}
                <span class="number">{took(job)}</span>
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Waiting, and why" more={<a href="/jobs?order=queue">Queue</a>}>
          <Waiting queue={queue} />
        </Card>
        <Card title="Ended a second, since you opened this page">{status && <Rates status={status} />}</Card>
        <Card title="What fails" more={<a href="/jobs?status=failed,timeout,blocked_by_dependency,blocked_by_approval">All</a>}>
          <Failing runs={failed} />
        </Card>
        <Card title="Next fires" more={<a href="/schedules">Schedules</a>}>
          <Fires schedules={schedules} />
        </Card>
        <Card title="Workers" more={<a href="/workers">All</a>}>
          {!workers.length && <Empty>No worker is connected: nothing can start.</Empty>}
          <ul class="list">
            {workers.slice(0, 8).map((worker) => (
              <li key={worker.worker_id}>
                <span class={worker.alive ? "dot good" : "dot bad"} aria-hidden="true" />
                <bdi class="work">{worker.worker_id}</bdi>
                <span class="grow" />
                {!worker.alive && <span class="bad">silent</span>}
                {worker.draining_since && <span class="soft">draining</span>}
                <span class="number">{worker.holds.length} / {worker.slots}</span>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </>
  );
}

function Totals({ status }: { status: SchedulerStatus }) {
  const { totals } = status;
  const failed = (totals.failed ?? 0) + (totals.timeout ?? 0) + (totals.blocked ?? 0);
  const tiles: [string, number, string, string][] = [
    ["running", status.current_jobs.length, "busy", "/jobs?status=running"],
    ["waiting", status.queue_length, "wait", "/jobs?order=queue"],
    ["succeeded", totals.succeeded ?? 0, "good", "/jobs?status=succeeded,skipped"],
    ["failed", failed, "bad", "/jobs?status=failed,timeout,blocked_by_dependency,blocked_by_approval"],
    ["cancelled", totals.cancelled ?? 0, "calm", "/jobs?status=cancelled"],
  ];
  return (
    <ul class="tiles">
      {tiles.map(([name, number, kind, to]) => (
        <li key={name}><a href={to}><strong class={number ? kind : ""}>{count(number)}</strong> {name}</a></li>
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
  const first = useData<Page<Job>>("/api/queue?limit=1").value?.items[0];
  if (!queue) return <Empty>Loading…</Empty>;
  if (!queue.length) return <Empty>Nothing waits.</Empty>;
  const causes = new Map<string, { count: number; where: Map<string, number> }>();
  for (const one of queue.waiting) {
    const cause = one.reason ?? "ready";
    const found = causes.get(cause) ?? { count: 0, where: new Map<string, number>() };
    found.count += one.count;
    found.where.set(one.queue, (found.where.get(one.queue) ?? 0) + one.count);
    causes.set(cause, found);
  }
  const sorted = [...causes].sort(([, one], [, other]) => other.count - one.count);
  const most = sorted[0]?.[1].count ?? 1;
  return (
    <>
      <ul class="bars">
        {sorted.map(([cause, found]) => (
          <li key={cause}>
            <span>{WAIT_WORDS[cause] ?? `for ${lower(cause)}`}</span>
            <meter value={found.count} max={most} aria-label={`${found.count} jobs`} />
            <span class="number">{count(found.count)}</span>
            <span class="soft">{[...found.where].sort(([, one], [, other]) => other - one).slice(0, 3).map(([queue]) => queue).join(", ")}</span>
          </li>
        ))}
      </ul>
      {first && <p class="soft">First in the queue: <a href={`/jobs/${first.number}`}>job {first.number}</a>{first.wait_reason && <>, <JobIds text={first.wait_reason.detail} /></>}</p>}
    </>
  );
}

function Failing({ runs }: { runs: Run[] }) {
  if (!runs.length) return <Empty>Nothing has failed.</Empty>;
  const errors = new Map<string, Run[]>();
  for (const run of runs) {
    const error = firstLine(run.error ?? "no error was given");
    errors.set(error, [...(errors.get(error) ?? []), run]);
  }
  const sorted = [...errors].sort(([, one], [, other]) => other.length - one.length).slice(0, 6);
  return (
    <ul class="list">
      {sorted.map(([error, of]) => (
        <li key={error}>
          <span class="number">{of.length}×</span> <bdi class="work bad" title={error}>{error}</bdi>
          <span class="grow" />
          <JobLink id={of[0]!.job_id} /> <Ago at={of[0]!.finished_at} />
        </li>
      ))}
    </ul>
  );
}

function Fires({ schedules }: { schedules: Schedule[] }) {
  const next = schedules.filter((one) => one.enabled && one.next_trigger_at).sort((one, other) => one.next_trigger_at!.localeCompare(other.next_trigger_at!));
  if (!next.length) return <Empty>No schedule is on.</Empty>;
  return (
    <ul class="list">
      {next.slice(0, 8).map((one) => (
        <li key={one.schedule_id}><bdi class="work">{one.name ?? one.schedule_id}</bdi><span class="grow" /><Until at={one.next_trigger_at} /></li>
      ))}
    </ul>
  );
}

const KEPT = 240;

function Rates({ status }: { status: SchedulerStatus }) {
  const samples = useRef<{ at: number; good: number; bad: number }[]>([]);
  const { totals } = status;
  const now = { at: Date.now() / 1000, good: (totals.succeeded ?? 0) + (totals.skipped ?? 0), bad: (totals.failed ?? 0) + (totals.timeout ?? 0) };
  useEffect(() => {
    samples.current = [...samples.current, now].slice(-KEPT);
  }, [status]);
  const kept = samples.current;
  if (kept.length < 3) return <Empty>Collecting…</Empty>;
  const rates = kept.slice(1).map((one, index) => {
    const before = kept[index]!;
    const seconds = Math.max(0.1, one.at - before.at);
    return { at: one.at, good: Math.max(0, one.good - before.good) / seconds, bad: Math.max(0, one.bad - before.bad) / seconds };
  });
  return <Chart at={rates.map((one) => one.at)} series={[{ name: "succeeded", tone: "good", values: rates.map((one) => one.good) }, { name: "failed", tone: "bad", values: rates.map((one) => one.bad) }]} />;
}

