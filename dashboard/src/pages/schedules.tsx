// Schedules: when they fire, how their last jobs went; making, changing, pausing and firing them.

import { useEffect, useState } from "preact/hooks";
import { change, query } from "../api";
import { useData } from "../data";
import { tick } from "../live";
import { Templates } from "../parts/templates";
import { Ago, Button, Dialog, Empty, Failure, say, Until } from "../parts/ui";
import { go } from "../router";
import type { Fire, Job, Page, Schedule, Template } from "../types";
import { clock, lower, span, tone } from "../words";

const SLOWLY_MS = 5000;
const SHOWN = 30;
const LOOKED_AT = 100;

export function Schedules() {
  const { value, problem } = useData<Page<Schedule>>("/api/schedules?limit=200");
  const templates = useData<Page<Template>>("/api/job-templates?limit=200").value?.items ?? [];
  const [edited, edit] = useState<Schedule | "new" | null>(null);
  const order = (one: Schedule) => one.next_trigger_at ?? "~";
  const sorted = [...(value?.items ?? [])].sort((one, other) => order(one).localeCompare(order(other)));
  useEffect(() => {
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "center" });
  }, [sorted.length]);
  return (
    <>
      <header class="head"><h1>Schedules</h1><Button needs="submit" kind="main" onClick={() => edit("new")}>New schedule…</Button></header>
      <Failure problem={problem} />
      {value?.items.length === 0 && <Empty>There is no schedule. One makes jobs from a template: every night, every 15 minutes, or once.</Empty>}
      {!value && !problem && <Empty>Loading…</Empty>}
      <ul class="rows">
        {sorted.map((one) => <Row key={one.schedule_id} schedule={one} template={templates.find((found) => found.template_id === one.template_id)} edit={edit} />)}
      </ul>
      {value && <Templates templates={templates} />}
      {edited && <Edit schedule={edited === "new" ? null : edited} templates={templates} close={() => edit(null)} />}
    </>
  );
}

function Row({ schedule, template, edit }: { schedule: Schedule; template?: Template; edit: (one: Schedule) => void }) {
  const flip = async () => {
    await change("PATCH", `/api/schedules/${schedule.schedule_id}`, { enabled: !schedule.enabled });
    tick();
  };
  const fire = async () => {
    const job = await change<Job>("POST", `/api/schedules/${schedule.schedule_id}/trigger`);
    say(`Job ${job.number} was made.`);
    go(`/jobs/${job.number}`);
  };
  return (
    <li id={schedule.schedule_id} class="card">
      <header>
        <h2><bdi>{schedule.name ?? template?.name ?? schedule.schedule_id}</bdi> {!schedule.enabled && <span class="status wait">paused</span>}</h2>
        <span class="actions">
          <Button needs="submit" onClick={flip}>{schedule.enabled ? "Pause" : "Resume"}</Button>
          <Button needs="submit" onClick={() => edit(schedule)}>Edit…</Button>
          <Button needs="submit" onClick={fire}>Fire now</Button>
        </span>
      </header>
      <dl class="inline">
        <dt>When</dt><dd><code>{when(schedule)}</code> <span class="soft">{schedule.cron ? schedule.timezone : ""}</span></dd>
        <dt>Next</dt><dd>{schedule.next_trigger_at ? <><Until at={schedule.next_trigger_at} /> <span class="soft">{clock(schedule.next_trigger_at)}</span></> : "none"}</dd>
        <dt>Makes</dt><dd><bdi>{template ? `${template.name} (${template.job_type})` : "an archived template"}</bdi></dd>
        <dt>Last</dt><dd>{schedule.last_triggered_at ? <Ago at={schedule.last_triggered_at} /> : "never"}</dd>
      </dl>
      <Strip schedule={schedule} />
    </li>
  );
}

const when = (one: Schedule) => one.cron ?? (one.every ? `every ${typeof one.every === "number" ? span(one.every * 1000) : one.every}` : one.at ? clock(one.at) : "");

function Strip({ schedule }: { schedule: Schedule }) {
  const path = query("/api/jobs", { template_id: schedule.template_id, limit: LOOKED_AT });
  const jobs = useData<Page<Job>>(schedule.last_triggered_at ? path : null, SLOWLY_MS).value?.items ?? [];
  const own = jobs.filter((job) => job.schedule_id === schedule.schedule_id).slice(0, SHOWN).reverse();
  if (!own.length) return null;
  return (
    <div class="strip" role="group" aria-label="Its latest jobs, the newest last">
      {own.map((job) => (
        <a key={job.number} href={`/jobs/${job.number}`} class={tone(job.status)} title={`job ${job.number}: ${lower(job.status)}`} aria-label={`job ${job.number}: ${lower(job.status)}`} />
      ))}
    </div>
  );
}

type Kind = "cron" | "every" | "at";

function Edit({ schedule, templates, close }: { schedule: Schedule | null; templates: Template[]; close: () => void }) {
  const was: Kind = schedule?.every != null ? "every" : schedule?.at != null ? "at" : "cron";
  const [kind, setKind] = useState<Kind>(was);
  const [value, setValue] = useState(String(schedule?.[was] ?? "0 3 * * *"));
  const [timezone, setTimezone] = useState(schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [name, setName] = useState(schedule?.name ?? "");
  const [template, setTemplate] = useState(schedule?.template_id ?? "");
  const [overlap, setOverlap] = useState(schedule?.overlap ?? "allow");
  const fires = useData<Page<Fire>>(schedule ? `/api/schedules/${schedule.schedule_id}/next?n=5` : null).value;
  const path = schedule ? `/api/schedules/${schedule.schedule_id}` : "/api/schedules";
  const save = async () => {
    const given = kind === "every" && /^[\d.]+$/.test(value) ? Number(value) : value;
    await change(schedule ? "PATCH" : "POST", path, { name: name || null, template, overlap, [kind]: given, ...(kind === "cron" && { timezone }) });
    close();
    tick();
  };
  const remove = async () => {
    await change("DELETE", path);
    close();
    tick();
  };
  return (
    <Dialog title={schedule ? `Edit ${schedule.name ?? "the schedule"}` : "New schedule"} onClose={close}>
      <label>Name<input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <label>
        Makes a job from the template
        <select value={template} onChange={(event) => setTemplate(event.currentTarget.value)}>
          <option value="">choose a template</option>
          {templates.filter((one) => one.status === "ACTIVE" || one.template_id === template).map((one) => <option key={one.template_id} value={one.template_id}>{one.name}</option>)}
        </select>
      </label>
      {!templates.length && <p class="soft">There is no template yet: make one first, below the schedules.</p>}
      <div class="fields">
        <label>When<select value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}><option value="cron">by a cron expression</option><option value="every">at an interval</option><option value="at">once</option></select></label>
        <label>{{ cron: "Minute, hour, day, month, weekday", every: "Every, such as 15m", at: "At, such as 2030-01-31T03:00:00Z" }[kind]}<input value={value} onInput={(event) => setValue(event.currentTarget.value)} /></label>
        {kind === "cron" && <label>Timezone<input value={timezone} onInput={(event) => setTimezone(event.currentTarget.value)} /></label>}
        <label>While the last one still runs<select value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}><option value="allow">start another</option><option value="skip">skip the fire</option></select></label>
      </div>
      {fires && <><p class="soft">Next, as it is now:</p><ul class="preview">{fires.items.map((one) => <li key={one.at}>{one.weekday} {clock(one.at)}</li>)}</ul></>}
      <footer>
        {schedule && <Button kind="danger" onClick={remove}>Remove</Button>}
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" disabled={!template || !value} onClick={save}>Save</Button>
      </footer>
    </Dialog>
  );
}
