// How a job's time was spent: what it waited for and its runs, one after the other.

import { useData } from "../data";
import type { EventLine, Job, Page } from "../types";
import { clock, hasEnded, lower, serverNow, span, tone, type Tone } from "../words";
import { Empty, Failure, useSecond } from "./ui";

interface Stretch {
  from: number;
  to: number;
  label: string;
  tone: Tone;
}

const MOST_EVENTS = 200;
const SHORTEST_SHARE = 0.006;
const WAITS: Record<string, string> = {
  WAITING_ON_DEPS: "waited for other jobs",
  WAITING_ON_APPROVAL: "waited for an approval",
  WAITING_ON_LOCKS: "waited for locks",
  CLAIMED: "claimed by a worker",
  PREPARING: "prepared",
  LEASE_PENDING: "waited for its lease",
};

export function Course({ job, path }: { job: Job; path: string }) {
  useSecond();
  const { value, problem } = useData<Page<EventLine>>(`${path}/events?limit=${MOST_EVENTS}`);
  if (!value) return problem ? <Failure problem={problem} /> : <Empty>Loading…</Empty>;
  const stretches = stretchesOf(job, value.items);
  const whole = Math.max(1, (stretches.at(-1)?.to ?? 0) - (stretches[0]?.from ?? 0));
  return (
    <>
      <div class="course" role="img" aria-label={stretches.map((one) => `${one.label} ${span(one.to - one.from)}`).join(", ")}>
        {stretches.map((one) => <i key={one.from + one.label} class={one.tone} style={{ flexGrow: Math.max(SHORTEST_SHARE, (one.to - one.from) / whole) }} title={`${one.label}: ${span(one.to - one.from)}`} />)}
      </div>
      <ol class="stretches">
        {stretches.map((one) => (
          <li key={one.from + one.label}>
            <i class={`key ${one.tone}`} aria-hidden="true" />
            <span>{one.label}</span>
            <span class="number">{span(one.to - one.from)}</span>
            <time class="soft" dateTime={new Date(one.from).toISOString()}>{clock(new Date(one.from).toISOString())}</time>
          </li>
        ))}
      </ol>
    </>
  );
}

/** From the submit to now or the end, without gaps; moments that took no time are left out. */
function stretchesOf(job: Job, events: EventLine[]): Stretch[] {
  const ordered = [...events].sort((one, other) => one.seq - other.seq);
  const found: Stretch[] = [];
  let run = 0;
  for (const event of ordered) {
    const kind = event.kind.replace("job.", "");
    const at = Date.parse(event.at);
    const status = typeof event.data.status === "string" ? event.data.status : "";
    const previous = found.at(-1);
    if (previous) previous.to = at;
    if (kind === "started") found.push({ from: at, to: at, label: `ran${++run > 1 ? ` again (${run})` : ""}`, tone: "busy" });
    else if (kind === "finished") {
      if (previous?.tone === "busy") Object.assign(previous, { label: `${previous.label}, ${lower(status)}`, tone: tone(status) });
    } else if (kind === "submitted" || kind === "waiting") found.push({ from: at, to: at, label: waited(job, status, at), tone: "wait" });
    else if (kind === "suspended") {
      if (previous?.tone === "busy") Object.assign(previous, { tone: "good" });
      found.push({ from: at, to: at, label: "waited in the middle", tone: "wait" });
    } else if (kind === "queued" || kind === "rewound" || kind === "resumed") found.push({ from: at, to: at, label: "waited for its turn", tone: "calm" });
  }
  const last = found.at(-1);
  if (last && !hasEnded(job.status)) {
    last.to = serverNow();
    last.label = job.status === "RUNNING" ? last.label.replace("ran", "runs") : last.label.replace("waited", "waits");
  }
  return found.filter((one, place) => one.to > one.from || place === found.length - 1);
}

function waited(job: Job, status: string, at: number): string {
  if (WAITS[status]) return WAITS[status];
  return job.scheduled_for && Date.parse(job.scheduled_for) > at ? "waited for its time" : "waited for its turn";
}
