// Who ran what when: the latest runs as bars, by worker and slot.

import { useState } from "preact/hooks";
import { useList } from "../data";
import { JobLink } from "../parts/ids";
import { Empty, Failure, More, useSecond } from "../parts/ui";
import { go } from "../router";
import type { Run } from "../types";
import { clock, serverNow, span, tone } from "../words";

const SPANS: [name: string, ms: number][] = [
  ["1 min", 60_000],
  ["10 min", 600_000],
  ["1 h", 3_600_000],
  ["6 h", 21_600_000],
  ["24 h", 86_400_000],
];
const ROW = 20;
const WIDTH = 1000;

const RUN_TONE: Record<string, string> = { COMPLETED: "SUCCEEDED", FAILED: "FAILED", SKIPPED: "SKIPPED" };

export function Timeline() {
  useSecond();
  const [length, setLength] = useState(600_000);
  const list = useList<Run>("/api/job-runs?limit=200", (run) => run.run_id);
  const now = serverNow();
  const from = now - length;
  const shown = (list.value ?? []).filter((run) => (run.finished_at ? Date.parse(run.finished_at) : now) >= from);
  const workers = byWorker(shown, now);
  const oldest = list.value?.at(-1);
  const reachesBack = !list.more || (oldest !== undefined && Date.parse(oldest.started_at) < from);
  return (
    <>
      <h1>Timeline</h1>
      <div class="tabs" role="group" aria-label="How far back">
        {SPANS.map(([name, ms]) => <button type="button" key={name} aria-pressed={ms === length} onClick={() => setLength(ms)}>{name}</button>)}
      </div>
      <Failure problem={list.problem} />
      {list.value && !shown.length && <Empty>Nothing ran in this time.</Empty>}
      {workers.map(([worker, slots]) => (
        <section class="card wide" key={worker}>
          <header><h2><bdi>{worker}</bdi></h2><span class="soft">{slots.flat().length} runs</span></header>
          <svg class="timeline" viewBox={`0 0 ${WIDTH} ${slots.length * ROW + 18}`} role="group" aria-label={`Runs of ${worker}`}>
            {[0, 0.25, 0.5, 0.75].map((part) => (
              <g key={part}>
                <line x1={part * WIDTH} x2={part * WIDTH} y1="0" y2={slots.length * ROW} class="tick" />
                <text x={part * WIDTH + 4} y={slots.length * ROW + 14} class="soft">{new Date(from + part * length).toLocaleTimeString()}</text>
              </g>
            ))}
            {slots.flatMap((runs, slot) =>
              runs.map((run) => {
                const start = Math.max(0, ((Date.parse(run.started_at) - from) / length) * WIDTH);
                const end = (((run.finished_at ? Date.parse(run.finished_at) : now) - from) / length) * WIDTH;
                return (
                  <a key={run.run_id} href={`/jobs/${run.job_id}`} onClick={(event) => { event.preventDefault(); go(`/jobs/${run.job_id}`); }}>
                    <rect class={`run ${tone(run.status ? RUN_TONE[run.status] ?? run.status : "RUNNING")}`} x={start} y={slot * ROW + 2} width={Math.max(2, end - start)} height={ROW - 4} rx="3">
                      <title>{`${clock(run.started_at)}, ${run.duration_ms === null ? "running" : span(run.duration_ms)}`}</title>
                    </rect>
                  </a>
                );
              }),
            )}
          </svg>
        </section>
      ))}
      {!reachesBack && <><p class="soft">Earlier runs are not loaded yet: the list goes back to {oldest && <>job <JobLink id={oldest.job_id} />, {clock(oldest.started_at)}</>}.</p><More load={list.more} busy={list.isLoading} /></>}
    </>
  );
}

/** The runs of each worker, those that overlap in different rows. */
function byWorker(runs: Run[], now: number): [string, Run[][]][] {
  const workers = new Map<string, Run[][]>();
  const ends = new Map<string, number[]>();
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
