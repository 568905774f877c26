// One job: why it is not running, what it did, what it said, and what can be done about it.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData, useList } from "../data";
import { tick } from "../live";
import { JobIds, JobLink, learn } from "../parts/ids";
import { Output } from "../parts/log";
import { Picture } from "../parts/picture";
import { Ago, Bar, Button, Dialog, Empty, Failure, Json, More, say, Status, Until, useSecond, Work } from "../parts/ui";
import { go, setQuery, useWhere } from "../router";
import type { Blocker, EventLine, GateRow, Graph, Job, Page, RewindReport, Run, Why } from "../types";
import { clock, count, hasEnded, isGood, lower, span, took } from "../words";

const TABS = ["Overview", "Output", "Runs", "Graph", "Events"] as const;
type Tab = (typeof TABS)[number];

export function JobPage({ id }: { id: string }) {
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  const { value: job, problem } = useData<Job>(path);
  const runs = useData<Page<Run>>(`${path}/runs`).value?.items ?? [];
  const wanted = useWhere().query.get("tab");
  const tab: Tab = TABS.find((one) => one.toLowerCase() === wanted) ?? "Overview";
  if (problem?.status === 404) {
    return (
      <>
        <h1>Job {id}</h1>
        <Empty>There is no job {id}. It may have been removed by gc. <a href="/jobs">All jobs</a></Empty>
      </>
    );
  }
  if (!job) return problem ? <Failure problem={problem} /> : <Empty>Loading…</Empty>;
  learn(job.job_id, job.number);
  const run = runs.find((one) => one.run_id === job.run_id) ?? runs[0];
  return (
    <>
      <h1>
        Job {job.number} <Status status={job.status} />
      </h1>
      <p class="lead"><Work job={job} /></p>
      <Failure problem={problem} />
      <Actions job={job} run={run} />
      <div class="tabs" role="group" aria-label="Parts of this job">
        {TABS.map((one) => (
          <button type="button" key={one} aria-pressed={one === tab} onClick={() => setQuery({ tab: one === "Overview" ? null : one.toLowerCase() })}>
            {one}
          </button>
        ))}
      </div>
      {tab === "Overview" && <Overview job={job} run={run} path={path} />}
      {tab === "Output" && (run ? <Output key={run.run_id} run={run.run_id} live={!run.finished_at} /> : <Empty>It has not run yet.</Empty>)}
      {tab === "Runs" && <Runs runs={runs} />}
      {tab === "Graph" && <Neighbours job={job} />}
      {tab === "Events" && <Events path={`${path}/events?limit=100`} />}
    </>
  );
}

function Overview({ job, run, path }: { job: Job; run?: Run; path: string }) {
  return (
    <div class="columns">
      <section class="card">
        <header><h2>{hasEnded(job.status) ? "How it went" : "Why"}</h2></header>
        <WhyPart job={job} path={path} />
      </section>
      <section class="card">
        <header><h2>Times</h2></header>
        <Times job={job} />
      </section>
      {run?.error && (
        <section class="card wide">
          <header><h2>Error</h2></header>
          <pre class="error">{run.error.trim()}</pre>
        </section>
      )}
      {run?.result !== null && run?.result !== undefined && (
        <section class="card">
          <header><h2>Result</h2></header>
          <Json value={run.result} />
        </section>
      )}
      <section class="card">
        <header><h2>Params</h2></header>
        {Object.keys(job.params).length ? <Json value={job.params} /> : <Empty>None.</Empty>}
      </section>
      <section class="card">
        <header><h2>Terms</h2></header>
        <Terms job={job} />
      </section>
    </div>
  );
}

function WhyPart({ job, path }: { job: Job; path: string }) {
  const { value: why, problem } = useData<Why>(`${path}/why`);
  if (!why) return <Failure problem={problem} />;
  const closed = why.gates.filter((gate) => gate.state === "closed");
  if (hasEnded(job.status) && !closed.length) {
    return <p>It {lower(job.status)}{job.started_at ? ` after ${took(job)}` : " and never ran"}{job.attempt > 0 ? `, at attempt ${job.attempt + 1}` : ""}.</p>;
  }
  if (job.status === "RUNNING") return <p>It is running{job.worker_id ? <> on <code>{job.worker_id}</code></> : null}.</p>;
  return (
    <>
      {!closed.length && (
        <p>{why.ahead ? <>Every gate is open; <strong>{why.ahead}</strong> {why.ahead === 1 ? "job goes" : "jobs go"} first.</> : "Every gate is open: it is next."}</p>
      )}
      {!why.startable && <p class="bad">Nothing that is known now can start it.</p>}
      <ol class="gates">{why.gates.map((gate) => <Gate key={gate.gate} gate={gate} />)}</ol>
    </>
  );
}

const MOST_BLOCKERS = 10;
const MOST_SHOWN = 50;

function Gate({ gate }: { gate: GateRow }) {
  const [all, showAll] = useState(false);
  const mark = { open: "✓", closed: "✗", not_reached: "·" }[gate.state];
  const shown = all ? gate.blockers : gate.blockers.slice(0, MOST_BLOCKERS);
  return (
    <li class={gate.state}>
      <span class="mark" aria-hidden="true">{mark}</span>
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

function Times({ job }: { job: Job }) {
  useSecond();
  const waited = job.started_at && Date.parse(job.started_at) - Date.parse(job.created_at);
  return (
    <dl>
      <dt>Submitted</dt><dd><Ago at={job.created_at} /></dd>
      {job.scheduled_for && !job.started_at && <><dt>Not before</dt><dd>{clock(job.scheduled_for)} (<Until at={job.scheduled_for} />)</dd></>}
      {job.started_at && <><dt>Started</dt><dd><Ago at={job.started_at} /></dd><dt>Waited</dt><dd>{span(waited as number)}</dd></>}
      {job.started_at && <><dt>{job.finished_at ? "Took" : "Running for"}</dt><dd>{took(job)}</dd></>}
      {job.progress && !job.finished_at && <><dt>Progress</dt><dd><Bar value={job.progress.fraction} label="Progress" /> {job.progress.message}</dd></>}
      {job.finished_at && <><dt>Ended</dt><dd><Ago at={job.finished_at} /></dd></>}
      {job.exit_code !== null && <><dt>Exit code</dt><dd>{job.exit_code}</dd></>}
      {job.retry_of && <><dt>Retry of</dt><dd>job <JobLink id={job.retry_of} /></dd></>}
      {job.retried_by && <><dt>Retried by</dt><dd>job <JobLink id={job.retried_by} /></dd></>}
    </dl>
  );
}

function Terms({ job }: { job: Job }) {
  const limits = Object.entries(job.limits).map(([name, units]) => `${name} ${units}`);
  const rows: [string, string | number | null][] = [
    ["Queue", job.queue],
    ["Priority", job.priority || null],
    ["Attempt", job.attempt + 1],
    ["Tags", job.tags.join(", ")],
    ["Locks", job.locks.map((lock) => `${lock.key} (${lock.mode})`).join(", ")],
    ["Limits", limits.join(", ")],
    ["Needs", job.needs.join(", ")],
    ["Produces", job.produces.join(", ")],
    ["Requires", job.requires.join(", ")],
    ["Time-out", job.timeout_s && span(job.timeout_s * 1000)],
    ["Unique key", job.unique_key],
    ["Worker", job.worker_id],
    ["Id", job.job_id],
  ];
  return (
    <dl>
      {rows.filter(([, value]) => value !== null && value !== "").map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}:`}><bdi>{value}</bdi></dd>])}
      {job.after.length > 0 && <><dt>After</dt><dd>{job.after.map((one) => <span key={one.job}><JobLink id={one.job} number={one.number} /> ({one.policy}) </span>)}</dd></>}
      {job.group_id && <><dt>Group</dt><dd><a href={`/groups/${job.group_id}`}>{job.group_id.slice(-12)}</a></dd></>}
      {job.schedule_id && <><dt>Schedule</dt><dd><a href={`/schedules#${job.schedule_id}`}>{job.schedule_id.slice(-12)}</a></dd></>}
    </dl>
  );
}

// ---- what can be done

function Actions({ job, run }: { job: Job; run?: Run }) {
  const [asked, ask] = useState<"approve" | "reject" | "cancel" | "rewind" | null>(null);
  const ended = hasEnded(job.status);
  const again = async () => {
    const made = await change<Job>("POST", `/api/job-runs/${run!.run_id}/retry`, {});
    say(`Job ${made.number} tries it again.`);
    go(`/jobs/${made.number}`);
  };
  return (
    <div class="actions">
      {job.status === "WAITING_ON_APPROVAL" && (
        <>
          <Button needs="submit" kind="main" onClick={() => ask("approve")}>Approve…</Button>
          <Button needs="submit" kind="danger" onClick={() => ask("reject")}>Reject…</Button>
        </>
      )}
      {!ended && <Button needs="submit" kind="danger" onClick={() => ask("cancel")}>Cancel…</Button>}
      {ended && !isGood(job.status) && run?.status === "FAILED" && !job.retried_by && <Button needs="submit" kind="main" onClick={again}>Retry</Button>}
      {ended && !isGood(job.status) && <Button needs="submit" onClick={() => ask("rewind")}>Rewind…</Button>}
      {asked === "rewind" && <Rewind job={job} close={() => ask(null)} />}
      {asked && asked !== "rewind" && <WithReason action={asked} job={job} close={() => ask(null)} />}
    </div>
  );
}

function WithReason({ action, job, close }: { action: "approve" | "reject" | "cancel"; job: Job; close: () => void }) {
  const [reason, setReason] = useState("");
  const title = action[0]!.toUpperCase() + action.slice(1);
  const run = async () => {
    await change("POST", `/api/jobs/${job.number}/${action}`, reason ? { reason } : {});
    close();
    tick();
  };
  return (
    <Dialog title={`${title} job ${job.number}?`} onClose={close}>
      <p><Work job={job} /></p>
      <label>Reason (kept with the job)<input value={reason} onInput={(event) => setReason(event.currentTarget.value)} /></label>
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind={action === "approve" ? "main" : "danger"} onClick={run}>{title}</Button>
      </footer>
    </Dialog>
  );
}

function Rewind({ job, close }: { job: Job; close: () => void }) {
  const { value: report, problem } = useData<RewindReport>(`/api/jobs/${job.number}/retry`);
  const run = async () => {
    await change("POST", `/api/jobs/${job.number}/retry`, {});
    say(`Job ${job.number} begins again, with what comes after it.`);
    close();
    tick();
  };
  return (
    <Dialog title={`Rewind job ${job.number}?`} onClose={close}>
      <Failure problem={problem} />
      {report && (
        <>
          <p>{report.reset.length === 1 ? "One job begins" : `${count(report.reset.length)} jobs begin`} again: the first of its chain and everything downstream.</p>
          <ul class="preview">
            {report.reset.slice(0, MOST_SHOWN).map((id) => <li key={id}>job <JobLink id={id} /></li>)}
            {report.reset.length > MOST_SHOWN && <li>and {count(report.reset.length - MOST_SHOWN)} more</li>}
          </ul>
        </>
      )}
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" disabled={!report} onClick={run}>Rewind</Button>
      </footer>
    </Dialog>
  );
}

// ---- runs, neighbours, events

function Runs({ runs }: { runs: Run[] }) {
  const [open, setOpen] = useState<string | null>(null);
  if (!runs.length) return <Empty>It has not run yet.</Empty>;
  return (
    <ul class="runs">
      {runs.map((run) => (
        <li key={run.run_id} class="card">
          <header>
            <h2>Attempt {run.attempt + 1}{run.generation > 1 ? `, after rewind ${run.generation - 1}` : ""} <Status status={run.status ?? "RUNNING"} /></h2>
            <button type="button" onClick={() => setOpen(open === run.run_id ? null : run.run_id)}>{open === run.run_id ? "Hide output" : "Output"}</button>
          </header>
          <dl>
            <dt>Started</dt><dd><Ago at={run.started_at} /></dd>
            {run.duration_ms !== null && <><dt>Took</dt><dd>{span(run.duration_ms)}</dd></>}
            <dt>Worker</dt><dd><bdi>{run.worker_id}</bdi></dd>
            {run.exit_code !== null && <><dt>Exit code</dt><dd>{run.exit_code}</dd></>}
          </dl>
          {run.error && <pre class="error">{run.error.trim()}</pre>}
          {open === run.run_id && <Output run={run.run_id} live={!run.finished_at} />}
        </li>
      ))}
    </ul>
  );
}

function Neighbours({ job }: { job: Job }) {
  const { value, problem } = useData<Graph>(`/api/graph?job=${job.number}`);
  if (!value) return <Failure problem={problem} />;
  if (value.nodes.length < 2) return <Empty>No job depends on it, and it depends on none.</Empty>;
  return <Picture graph={value} chosen={job.job_id} />;
}

function Events({ path }: { path: string }) {
  const list = useList<EventLine>(path, (event) => event.seq);
  return (
    <>
      <Failure problem={list.problem} />
      <ol class="events">
        {list.value?.map((event) => (
          <li key={event.seq}>
            <time dateTime={event.at} title={event.at}>{clock(event.at)}</time>
            <strong>{event.kind.replace("job.", "").replaceAll("_", " ")}</strong>
            <code>{Object.keys(event.data).length ? JSON.stringify(event.data) : ""}</code>
          </li>
        ))}
      </ol>
      <More load={list.more} busy={list.isLoading} />
    </>
  );
}
