// Why a job is not running: its nine gates, what keeps them closed, and who.

import { useState } from "preact/hooks";
import { useData } from "../data";
import type { Blocker, GateRow, Job, Why } from "../types";
import { count, hasEnded, lower, took } from "../words";
import { JobIds, JobLink } from "./ids";
import { Failure, Status } from "./ui";

/** The closed gates with all that blocks them; the open ones in a line. */
export function WhyPart({ job, path }: { job: Job; path: string }) {
  const { value: why, problem } = useData<Why>(`${path}/why`);
  if (!why) return <Failure problem={problem} />;
  const closed = why.gates.filter((gate) => gate.state === "closed");
  if (hasEnded(job.status) && !closed.length) {
    return <p>It {lower(job.status)}{job.started_at ? ` after ${took(job)}` : " and never ran"}{job.attempt > 0 ? `, at attempt ${job.attempt + 1}` : ""}.</p>;
  }
  if (job.status === "RUNNING") return <p>It is running{job.worker_id ? <> on <code>{job.worker_id}</code></> : null}.</p>;
  const open = why.gates.filter((gate) => gate.state === "open").map((gate) => lower(gate.gate));
  const later = why.gates.filter((gate) => gate.state === "not_reached").map((gate) => lower(gate.gate));
  return (
    <>
      {!closed.length && (
        <p>{why.ahead ? <>Every gate is open; <strong>{count(why.ahead)}</strong> {why.ahead === 1 ? "job goes" : "jobs go"} first.</> : "Every gate is open: it is next."}</p>
      )}
      {!why.startable && <p class="bad">Nothing that is known now can start it.</p>}
      <ol class="gates">{closed.map((gate) => <Gate key={gate.gate} gate={gate} />)}</ol>
      {open.length > 0 && <p class="soft"><span class="good" aria-hidden="true">✓</span> open: {open.join(", ")}</p>}
      {later.length > 0 && <p class="soft">not reached yet: {later.join(", ")}</p>}
    </>
  );
}

const MOST_BLOCKERS = 10;

function Gate({ gate }: { gate: GateRow }) {
  const [all, showAll] = useState(false);
  const shown = all ? gate.blockers : gate.blockers.slice(0, MOST_BLOCKERS);
  return (
    <li class={gate.state}>
      <span class="mark" aria-hidden="true">✗</span>
      <span class="gate">{lower(gate.gate)}</span>
      <span class="hidden">{lower(gate.state)}</span>
      {gate.detail && <span> <JobIds text={gate.detail} /></span>}
      {shown.length > 0 && (
        <ul>
          {shown.map((one) => <BlockerLine key={one.kind + one.id} blocker={one} />)}
          {gate.blockers.length > shown.length && (
            <li><button type="button" class="plain" onClick={() => showAll(true)}>{gate.blockers.length - shown.length} more</button></li>
          )}
        </ul>
      )}
    </li>
  );
}

function BlockerLine({ blocker }: { blocker: Blocker }) {
  const isJob = blocker.kind === "job" || blocker.kind === "cause";
  return (
    <li>
      {isJob ? <>{blocker.kind === "cause" ? "first cause: " : ""}job <JobLink id={blocker.id} /></> : <>{blocker.kind} <bdi>{blocker.id}</bdi></>}
      {blocker.status && <> <Status status={blocker.status} /></>}
      {blocker.detail && <span class="soft"> <JobIds text={blocker.detail} /></span>}
    </li>
  );
}
