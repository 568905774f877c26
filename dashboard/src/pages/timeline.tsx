// Who ran what when: the latest runs as bars, by worker and slot, and what is due next.

import { useState } from "preact/hooks";
import { useData, useList } from "../data";
import { JobLink, numberOf } from "../parts/ids";
import { Empty, Failure, More, useSecond } from "../parts/ui";
import { go, setQuery, useWhere } from "../router";
import type { Page, Run, Schedule, Worker } from "../types";
import { clock, count, lower, quick, serverNow, span, tone } from "../words";

const SPANS: [name: string, ms: number][] = [
  ["1 min", 60_000],
  ["10 min", 600_000],
  ["1 h", 3_600_000],
  ["6 h", 21_600_000],
  ["24 h", 86_400_000],
];
const USUAL = "10 min";
const ROW = 22;
const WIDTH = 1000;
const END = 990;
const TICKS = [0, 0.25, 0.5, 0.75];
const MOST_IDLE_ROWS = 16;
const SLOWLY_MS = 5000;

const RUN_TONE: Record<string, string> = { COMPLETED: "SUCCEEDED", FAILED: "FAILED", SKIPPED: "SKIPPED" };
const toneOf = (run: Run) => tone(run.status ? RUN_TONE[run.status] ?? run.status : "RUNNING");

export function Timeline() {
  useSecond();
  const name = useWhere().query.get("span") ?? USUAL;
  const length = SPANS.find(([one]) => one === name)?.[1] ?? SPANS[1]![1];
  const list = useList<Run>("/api/job-runs?limit=200", (run) => run.run_id);
  const known = useData<Page<Worker>>("/api/workers").value?.items ?? [];
  const schedules = useData<Page<Schedule>>("/api/schedules?limit=200", SLOWLY_MS).value?.items ?? [];
  const now = serverNow();
  const from = now - length;
  const shown = (list.value ?? []).filter((run) => (run.finished_at ? Date.parse(run.finished_at) : now) >= from);
  const workers = byWorker(shown, known, now);
  const oldest = list.value?.at(-1);
  const reachesBack = !list.more || (oldest !== undefined && Date.parse(oldest.started_at) < from);
  return (
    <>
      <h1>Timeline</h1>
      <div class="tabs" role="group" aria-label="How far back">
        {SPANS.map(([one]) => <button type="button" key={one} aria-pressed={one === name} onClick={() => setQuery({ span: one === USUAL ? null : one })}>{one}</button>)}
      </div>
      <Failure problem={list.problem} />
      {list.value && !shown.length && <Empty>Nothing ran in this time.</Empty>}
      {!list.value && !list.problem && <Empty>Loading…</Empty>}
      {workers.map(([worker, slots]) => <Lanes key={worker} worker={worker} slots={slots} from={from} length={length} now={now} />)}
      <Ahead schedules={schedules} now={now} length={length} />
      {!reachesBack && <><p class="soft">Earlier runs are not loaded yet: the list goes back to {oldest && <>job <JobLink id={oldest.job_id} />, {clock(oldest.started_at)}</>}.</p><More load={list.more} busy={list.isLoading} /></>}
    </>
  );
}

interface LanesProps {
  worker: string;
  slots: Run[][];
  from: number;
  length: number;
  now: number;
}

function Lanes({ worker, slots, from, length, now }: LanesProps) {
  const [pointed, point] = useState<Run | null>(null);
  const at = (moment: number) => Math.max(0, ((moment - from) / length) * END);
  const runs = slots.flat();
  const busy = runs.reduce((sum, run) => sum + Math.min(now, run.finished_at ? Date.parse(run.finished_at) : now) - Math.max(from, Date.parse(run.started_at)), 0);
  return (
    <section class="card wide">
      <header><h2><bdi>{worker}</bdi></h2><span class="soft">{count(runs.length)} runs, {Math.round((busy / length / Math.max(1, slots.length)) * 100)} % of {slots.length} {slots.length === 1 ? "slot" : "slots"}</span></header>
      <svg class="timeline" viewBox={`0 0 ${WIDTH} ${slots.length * ROW + 20}`} role="group" aria-label={`Runs of ${worker}`}>
        {slots.map((_, slot) => <rect key={slot} class="slot" x="0" y={slot * ROW + 2} width={END} height={ROW - 4} rx="3" />)}
        {TICKS.map((part) => (
          <g key={part}>
            <line x1={part * END} x2={part * END} y1="0" y2={slots.length * ROW} class="tick" />
            <text x={part * END + 3} y={slots.length * ROW + 15} class="soft">{new Date(from + part * length).toLocaleTimeString()}</text>
          </g>
        ))}
        <line x1={END} x2={END} y1="0" y2={slots.length * ROW} class="now" />
        <text x={END - 4} y={slots.length * ROW + 15} class="soft" text-anchor="end">now</text>
        {slots.flatMap((of, slot) => of.map((run) => <RunBar key={run.run_id} run={run} x={at(Date.parse(run.started_at))} until={at(run.finished_at ? Date.parse(run.finished_at) : now)} y={slot * ROW + 2} point={point} />))}
      </svg>
      <p class="soft pointed" aria-live="off">{pointed ? <>Job <JobLink id={pointed.job_id} />: {clock(pointed.started_at)}, {pointed.duration_ms === null ? "running" : `${lower(pointed.status ?? "")} after ${span(pointed.duration_ms)}`}</> : "Point at a bar to see its job."}</p>
    </section>
  );
}

interface BarProps {
  run: Run;
  x: number;
  until: number;
  y: number;
  point: (run: Run) => void;
}

function RunBar({ run, x, until, y, point }: BarProps) {
  const to = `/jobs/${numberOf(run.job_id) ?? run.job_id}`;
  return (
    <a
      href={to}
      aria-label={`Run at ${clock(run.started_at)}, ${lower(run.status ?? "running")}`}
      onClick={(event) => { event.preventDefault(); go(to); }}
      onPointerEnter={() => point(run)}
      onFocus={() => point(run)}
    >
      <rect class={`run ${toneOf(run)}`} x={x} y={y} width={Math.max(2, until - x)} height={ROW - 4} rx="3" />
    </a>
  );
}

/** What schedules will make, as far ahead as the page looks back. */
function Ahead({ schedules, now, length }: { schedules: Schedule[]; now: number; length: number }) {
  const next = schedules
    .filter((one) => one.enabled && one.next_trigger_at && Date.parse(one.next_trigger_at) < now + length)
    .sort((one, other) => one.next_trigger_at!.localeCompare(other.next_trigger_at!));
  if (!next.length) return null;
  return (
    <section class="card wide">
      <header><h2>Ahead</h2><span class="soft">fires of schedules within {quick(length)}</span></header>
      <ul class="list">
        {next.slice(0, 10).map((one) => <li key={one.schedule_id}><a href={`/schedules#${one.schedule_id}`}><bdi>{one.name ?? one.schedule_id}</bdi></a><span class="grow" /><span class="number">in {span(Date.parse(one.next_trigger_at!) - now)}</span></li>)}
      </ul>
    </section>
  );
}

/** The runs of each worker, those that overlap in different rows; a live worker's idle slots are empty rows. */
function byWorker(runs: Run[], known: Worker[], now: number): [string, Run[][]][] {
  const workers = new Map<string, Run[][]>();
  const ends = new Map<string, number[]>();
  for (const worker of known) if (worker.alive) workers.set(worker.worker_id, Array.from({ length: Math.min(worker.slots, MOST_IDLE_ROWS) }, () => []));
  for (const run of [...runs].sort((one, other) => one.started_at.localeCompare(other.started_at))) {
    const worker = run.worker_id ?? "no worker";
    const slots = workers.get(worker) ?? [];
    const free = ends.get(worker) ?? [];
    const start = Date.parse(run.started_at);
    let slot = free.findIndex((end) => end <= start);
    if (slot < 0) slot = free.length;
    free[slot] = run.finished_at ? Date.parse(run.finished_at) : now;
    slots[slot] = [...(slots[slot] ?? []), run];
    workers.set(worker, slots);
    ends.set(worker, free);
  }
  return [...workers].sort(([one], [other]) => one.localeCompare(other));
}
