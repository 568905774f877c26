// One job: why it is not running, what it did, what it said, and what can be done about it.

import { useState } from "preact/hooks";
import { useData, useList } from "../data";
import { Actions } from "../parts/actions";
import { Chain } from "../parts/chain";
import { Course } from "../parts/course";
import { JobLink, learn } from "../parts/ids";
import { Output } from "../parts/log";
import { Picture } from "../parts/picture";
import { Steps } from "../parts/steps";
import { Ago, Bar, Card, copy, Empty, Failure, Json, More, Status, Until, useSecond, Work } from "../parts/ui";
import { WhyPart } from "../parts/why";
import { setQuery, useWhere } from "../router";
import type { EventLine, Graph, Job, Page, Run } from "../types";
import { clock, hasEnded, span, took, visible } from "../words";

const TABS = ["Overview", "Output", "Runs", "Graph", "Events"] as const;
const SLOWLY_MS = 2000;
type Tab = (typeof TABS)[number];

export function JobPage({ id }: { id: string }) {
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  const { value: job, problem } = useData<Job>(path);
  const runs = useData<Page<Run>>(problem?.status === 404 ? null : `${path}/runs`).value?.items ?? [];
  const listed = runs.find((one) => one.run_id === job?.run_id) ?? runs[0];
  // Lists leave large results and params out.
  const whole = useData<Run>(listed?.omitted ? `/api/job-runs/${listed.run_id}` : null).value;
  const wanted = useWhere().query.get("tab");
  const tab: Tab = TABS.find((one) => one.toLowerCase() === wanted) ?? "Overview";
  if (problem?.status === 404) return <Gone id={id} />;
  if (!job) return problem ? <Failure problem={problem} /> : <Empty>Loading…</Empty>;
  learn(job.job_id, job.number);
  const run = whole ?? listed;
  return (
    <>
      <header class="head">
        <div>
          <h1>Job {job.number} <Status status={job.status} /></h1>
          <p class="lead"><Work job={job} /></p>
        </div>
        <Actions job={job} run={run} />
      </header>
      <Failure problem={problem} />
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

function Gone({ id }: { id: string }) {
  return (
    <>
      <h1>Job {id}</h1>
      <Empty>There is no job {id}. It may have been removed by gc. <a href="/jobs">All jobs</a></Empty>
    </>
  );
}

function Overview({ job, run, path }: { job: Job; run?: Run; path: string }) {
  const params = run?.params_snapshot ?? job.params; // as the run got them: results of other jobs are filled in
  const beside = useData<Graph>(`/api/graph?job=${job.number}`, SLOWLY_MS).value;
  return (
    <div class="halves">
      <div class="stack">
        <Card title={hasEnded(job.status) ? "How it went" : job.status === "RUNNING" ? "What it does" : "Why it waits"}>
          {job.progress && !job.finished_at && <Progress job={job} />}
          <WhyPart job={job} path={path} />
        </Card>
        <Steps job={job} path={path} />
        {run?.error && <Card title="Error"><pre class="error">{visible(run.error.trim())}</pre></Card>}
        {run?.result !== null && run?.result !== undefined && <Card title="Result" more={<CopyJson value={run.result} />}><Json value={run.result} /></Card>}
        {run && (
          <Card title={run.finished_at ? "Output" : "Output, live"} more={<a href={`/jobs/${job.number}?tab=output`}>All of it</a>}>
            <Output key={run.run_id} run={run.run_id} live={!run.finished_at} first={run.exit_code ? "stderr" : "stdout"} isShort />
          </Card>
        )}
        <Chain job={job} />
      </div>
      <div class="stack">
        <Card title="How its time was spent"><Course job={job} path={path} /></Card>
        {beside && beside.edges.length > 0 && <Card title="What it waits for, and what waits for it" more={<a href={`/jobs/${job.number}?tab=graph`}>Larger</a>}><Picture graph={beside} chosen={job.job_id} isSmall /></Card>}
        <Card title="Params" more={<CopyJson value={params} />}>{Object.keys(params).length ? <Json value={params} /> : <Empty>None.</Empty>}</Card>
        <Card title="Terms"><Terms job={job} /></Card>
      </div>
    </div>
  );
}

function CopyJson({ value }: { value: unknown }) {
  return <button type="button" class="plain" onClick={() => copy(JSON.stringify(value, null, 2))}>Copy</button>;
}

function Progress({ job }: { job: Job }) {
  const { fraction, message } = job.progress!;
  return (
    <p class="progress">
      <Bar value={fraction} label="Progress" />
      {fraction !== null && <strong class="number">{Math.floor(fraction * 100)} %</strong>} <bdi>{message}</bdi>
    </p>
  );
}

function Terms({ job }: { job: Job }) {
  useSecond();
  const limits = Object.entries(job.limits).map(([name, units]) => `${name} ${units}`);
  const rows: [string, string | number | null][] = [
    ["Type", job.job_type],
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
      <dt>Submitted</dt><dd><Ago at={job.created_at} /> <span class="soft">{clock(job.created_at)}</span></dd>
      {job.scheduled_for && !job.started_at && <><dt>Not before</dt><dd><Until at={job.scheduled_for} /> <span class="soft">{clock(job.scheduled_for)}</span></dd></>}
      {job.started_at && (job.finished_at || job.status === "RUNNING") && <><dt>{job.finished_at ? "Took" : "Running for"}</dt><dd>{took(job)}</dd></>}
      {job.exit_code !== null && <><dt>Exit code</dt><dd>{job.exit_code}</dd></>}
      {rows.filter(([, value]) => value !== null && value !== "").map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}:`}><bdi>{value}</bdi></dd>])}
      {job.after.length > 0 && <><dt>After</dt><dd>{job.after.map((one) => <span key={one.job}><JobLink id={one.job} number={one.number} /> ({one.policy}) </span>)}</dd></>}
      {job.parent_id && <><dt>Child of</dt><dd>job <JobLink id={job.parent_id} /></dd></>}
      {job.group_id && <><dt>Group</dt><dd><a href={`/groups/${job.group_id}`}>{job.group_id.slice(-12)}</a></dd></>}
      {job.schedule_id && <><dt>Schedule</dt><dd><a href={`/schedules#${job.schedule_id}`}>{job.schedule_id.slice(-12)}</a></dd></>}
    </dl>
  );
}

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
          {run.error && <pre class="error">{visible(run.error.trim())}</pre>}
          {open === run.run_id && <Output run={run.run_id} live={!run.finished_at} />}
        </li>
      ))}
    </ul>
  );
}

function Neighbours({ job }: { job: Job }) {
  const { value, problem } = useData<Graph>(`/api/graph?job=${job.number}`);
  if (!value) return problem ? <Failure problem={problem} /> : <Empty>Loading…</Empty>;
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
