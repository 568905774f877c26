// The list of jobs: filters in the address, an endless list, many at once.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { change, Problem, query } from "../api";
import { QUEUE_STATUS_MS, useData, useList } from "../data";
import { tick } from "../live";
import { Ago, Bar, Button, Dialog, Empty, Failure, may, More, say, Status, Work } from "../parts/ui";
import { go, setQuery, useWhere } from "../router";
import type { Job, Page, QueueStatus } from "../types";
import { count, FAILED, firstLine, hasEnded, isGood, serverNow, span, took, visible } from "../words";
import { JobIds, JobLink } from "../parts/ids";

const PRESETS: [name: string, status: string][] = [
  ["All", ""],
  ["Running", "running"],
  ["Waiting", "queued,waiting_on_deps,waiting_on_approval,waiting_on_locks,suspended,claimed,preparing,lease_pending"],
  ["Failed", FAILED],
  ["Succeeded", "succeeded,skipped"],
  ["Cancelled", "cancelled"],
];
const SINCE: [name: string, seconds: number][] = [
  ["any time", 0],
  ["last hour", 3600],
  ["last day", 86_400],
  ["last week", 604_800],
];
const FIELDS = ["job_type", "queue", "tag", "group_id", "template_id"] as const;

export function Jobs() {
  const { query: where } = useWhere();
  const order = where.get("order") ?? "newest";
  const since = Number(where.get("since_s") ?? 0);
  const from = useMemo(() => (since ? new Date(serverNow() - since * 1000).toISOString() : null), [since, where.get("status")]);
  const filters = Object.fromEntries(FIELDS.map((field) => [field, where.get(field)]));
  const path =
    order === "queue"
      ? "/api/queue?limit=100"
      : query("/api/jobs", { limit: 100, status: where.get("status"), since: from, ...filters });
  const list = useList<Job>(path, (job) => job.number);
  const running = useData<Page<Job>>(order === "running" ? "/api/jobs?status=running&limit=100" : null).value?.items ?? [];
  const [chosen, choose] = useState<ReadonlySet<number>>(new Set());
  useEffect(() => choose(new Set()), [path]);
  const ahead = new Set(running.map((job) => job.number));
  const jobs = [...running, ...(list.value ?? []).filter((job) => !ahead.has(job.number))];
  const picked = jobs.filter((job) => chosen.has(job.number));
  return (
    <>
      <h1>Jobs</h1>
      <Filters order={order} />
      <Failure problem={list.problem} />
      {picked.length > 0 && <Bulk jobs={picked} done={() => choose(new Set())} />}
      <Table jobs={jobs} chosen={chosen} choose={choose} inQueue={order === "queue"} />
      {list.value?.length === 0 && !list.more && <Empty>{order === "queue" ? "Nothing waits." : "No job matches."} {where.size > 0 && <a class="named" href="/jobs">Show all jobs</a>}</Empty>}
      {!list.value && !list.problem && <Empty>Loading…</Empty>}
      <More load={list.more} busy={list.isLoading} />
    </>
  );
}

function Filters({ order }: { order: string }) {
  const { query: where } = useWhere();
  const status = where.get("status") ?? "";
  const waiting = useData<QueueStatus>("/api/queue/status", QUEUE_STATUS_MS).value?.waiting ?? [];
  const queues = [...new Set(waiting.map((one) => one.queue))].sort();
  return (
    <div class="filters">
      <div class="tabs" role="group" aria-label="Status">
        {PRESETS.map(([name, value]) => (
          <button
            type="button"
            key={name}
            aria-pressed={order === "newest" && status === value}
            onClick={() => setQuery({ status: value, order: null })}
          >
            {name}
          </button>
        ))}
        <button type="button" aria-pressed={order === "running"} onClick={() => setQuery({ order: "running", status: null })}>
          Running first
        </button>
        <button type="button" aria-pressed={order === "queue"} onClick={() => setQuery({ order: "queue", status: null })}>
          Queue order
        </button>
      </div>
      {order !== "queue" && (
        <div class="fields">
          <Field name="job_type" label="Type" options={[]} />
          <Field name="queue" label="Queue" options={queues} />
          <Field name="tag" label="Tag" options={[]} />
          <label>
            When
            <select value={where.get("since_s") ?? "0"} onChange={(event) => setQuery({ since_s: event.currentTarget.value === "0" ? null : event.currentTarget.value })}>
              {SINCE.map(([name, seconds]) => <option key={name} value={String(seconds)}>{name}</option>)}
            </select>
          </label>
          {(["group_id", "template_id"] as const).map(
            (field) =>
              where.get(field) && (
                <button type="button" key={field} class="chip" onClick={() => setQuery({ [field]: null })}>
                  {field.replace("_id", "")} {where.get(field)!.slice(-12)} ✕
                </button>
              ),
          )}
        </div>
      )}
    </div>
  );
}

function Field(props: { name: string; label: string; options: string[] }) {
  const { query: where } = useWhere();
  const timer = useRef<ReturnType<typeof setTimeout>>();
  return (
    <label>
      {props.label}
      <input
        type="search"
        value={where.get(props.name) ?? ""}
        list={props.options.length ? `known-${props.name}` : undefined}
        placeholder="any"
        onInput={(event) => {
          const { value } = event.currentTarget;
          clearTimeout(timer.current);
          timer.current = setTimeout(() => setQuery({ [props.name]: value.trim() }), 300);
        }}
      />
      {props.options.length > 0 && (
        <datalist id={`known-${props.name}`}>{props.options.map((one) => <option key={one} value={one} />)}</datalist>
      )}
    </label>
  );
}

interface TableProps {
  jobs: Job[];
  chosen?: ReadonlySet<number>;
  choose?: (chosen: ReadonlySet<number>) => void;
  inQueue?: boolean;
}

/** Jobs in rows; arrow keys move, Enter opens, Space selects. */
export function Table({ jobs, chosen, choose, inQueue }: TableProps) {
  if (!jobs.length) return null;
  const selects = chosen !== undefined && choose !== undefined && may("submit");
  const flip = (number: number) => {
    const next = new Set(chosen);
    if (!next.delete(number)) next.add(number);
    choose!(next);
  };
  const press = (event: KeyboardEvent, job: Job) => {
    const row = event.currentTarget as HTMLElement;
    const to = ["ArrowDown", "j"].includes(event.key) ? row.nextElementSibling : ["ArrowUp", "k"].includes(event.key) ? row.previousElementSibling : null;
    if (to) (to as HTMLElement).focus();
    else if (event.key === "Enter" && event.target === row) go(`/jobs/${job.number}`);
    else if (event.key === " " && event.target === row && selects) flip(job.number);
    else return;
    event.preventDefault();
  };
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table class="jobs">
        <thead>
          <tr>
            {selects && (
              <th class="pick">
                <input
                  type="checkbox"
                  aria-label="Select all that are shown"
                  checked={chosen.size > 0 && chosen.size === jobs.length}
                  onChange={(event) => choose(new Set(event.currentTarget.checked ? jobs.map((job) => job.number) : []))}
                />
              </th>
            )}
            <th>Job</th>
            <th>Status</th>
            <th>Work</th>
            <th class="wide">Queue</th>
            <th class="wide">{inQueue ? "Place" : "Took"}</th>
            <th>Age</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.number} tabIndex={0} onKeyDown={(event) => press(event, job)}>
              {selects && (
                <td class="pick">
                  <input type="checkbox" aria-label={`Select job ${job.number}`} checked={chosen.has(job.number)} onChange={() => flip(job.number)} />
                </td>
              )}
              <td><a href={`/jobs/${job.number}`}>{job.number}</a></td>
              <td><Status status={job.status} /></td>
              <td class="what">
                <Work job={job} />
                <Tags job={job} />
                <Note job={job} />
              </td>
              <td class="wide"><bdi class="narrow" title={job.queue}>{visible(job.queue)}</bdi></td>
              <td class="wide number">{inQueue ? job.queue_position : took(job)}</td>
              <td class="number"><Ago at={job.created_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Tags({ job }: { job: Job }) {
  return <>{job.tags.map((tag) => <a key={tag} class="tag" href={query("/jobs", { tag })}><bdi>{visible(tag)}</bdi></a>)}</>;
}

function Note({ job }: { job: Job }) {
  if (job.status === "RUNNING" && job.progress) {
    return (
      <div class="note">
        <Bar value={job.progress.fraction} label={`Progress of job ${job.number}`} /> {job.progress.message}
      </div>
    );
  }
  if (job.error && !isGood(job.status)) return <div class="note bad"><bdi>{firstLine(job.error)}</bdi>{job.retried_by && <span class="soft"> tried again as job <JobLink id={job.retried_by} /></span>}</div>;
  if (job.wait_reason) return <div class="note"><JobIds text={job.wait_reason.detail} /></div>;
  return null;
}

// ---- many at once

type Action = "cancel" | "retry" | "approve";

const FITS: Record<Action, (job: Job) => boolean> = {
  cancel: (job) => !hasEnded(job.status),
  retry: (job) => hasEnded(job.status) && !isGood(job.status),
  approve: (job) => job.status === "WAITING_ON_APPROVAL",
};

function Bulk({ jobs, done }: { jobs: Job[]; done: () => void }) {
  const [action, ask] = useState<Action | null>(null);
  return (
    <div class="bulk">
      <strong>{count(jobs.length)} selected</strong>
      {(Object.keys(FITS) as Action[]).map((name) => {
        const fitting = jobs.filter(FITS[name]).length;
        return (
          <button type="button" key={name} disabled={!fitting} onClick={() => ask(name)}>
            {name[0]!.toUpperCase() + name.slice(1)}{fitting ? ` ${fitting}` : ""}
          </button>
        );
      })}
      <button type="button" class="plain" onClick={done}>Clear selection</button>
      {action && <Preview action={action} jobs={jobs} close={() => ask(null)} done={done} />}
    </div>
  );
}

function Preview(props: { action: Action; jobs: Job[]; close: () => void; done: () => void }) {
  const { action } = props;
  const fitting = props.jobs.filter(FITS[action]);
  const [reached, setReached] = useState(0);
  const run = async () => {
    let refused = 0;
    const began = Date.now();
    for (const [index, job] of fitting.entries()) {
      try {
        await change("POST", `/api/jobs/${job.number}/${action}`, {});
      } catch (error) {
        if (!(error instanceof Problem) || error.status === 0 || error.status === 401) throw error;
        refused++;
      }
      setReached(index + 1);
    }
    say(`${action}: ${fitting.length - refused} done, ${refused} refused, in ${span(Date.now() - began)}.`, refused ? "bad" : "good");
    props.done();
    props.close();
    tick();
  };
  return (
    <Dialog title={`${action[0]!.toUpperCase() + action.slice(1)} ${count(fitting.length)} jobs?`} onClose={props.close}>
      {fitting.length < props.jobs.length && (
        <p>{count(props.jobs.length - fitting.length)} of the selected jobs are left alone: their status does not allow it.</p>
      )}
      <ul class="preview">
        {fitting.slice(0, 20).map((job) => (
          <li key={job.number}>{job.number} <Status status={job.status} /> <Work job={job} /></li>
        ))}
        {fitting.length > 20 && <li>and {count(fitting.length - 20)} more</li>}
      </ul>
      {reached > 0 && <Bar value={reached / fitting.length} label="How many are done" />}
      <footer>
        <button type="button" onClick={props.close}>Leave them alone</button>
        <Button kind={action === "cancel" ? "danger" : "main"} onClick={run}>{action} {count(fitting.length)}</Button>
      </footer>
    </Dialog>
  );
}
