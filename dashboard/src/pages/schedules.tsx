// Schedules: when they fire, how their last jobs went, and pausing or firing them by hand.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData } from "../data";
import { tick } from "../live";
import { Ago, Button, Dialog, Empty, Failure, say, Until } from "../parts/ui";
import { go } from "../router";
import type { Job, Page, Schedule, Template } from "../types";
import { clock, lower, span, tone } from "../words";

export function Schedules() {
  const { value, problem } = useData<Page<Schedule>>("/api/schedules?limit=200");
  const templates = useData<Page<Template>>("/api/job-templates?limit=200").value?.items ?? [];
  const names = new Map(templates.map((one) => [one.template_id, one]));
  const recent = useData<Page<Job>>("/api/jobs?limit=200").value?.items ?? [];
  const [edited, edit] = useState<Schedule | null>(null);
  return (
    <>
      <h1>Schedules</h1>
      <Failure problem={problem} />
      {value?.items.length === 0 && <Empty>There is no schedule. <code>headway schedules add</code> makes one.</Empty>}
      <ul class="rows">
        {value?.items.map((one) => (
          <li key={one.schedule_id} id={one.schedule_id} class="card">
            <header>
              <h2><bdi>{one.name ?? names.get(one.template_id)?.name ?? one.schedule_id}</bdi> {!one.enabled && <span class="status calm">off</span>}</h2>
              <span class="actions">
                <Button needs="submit" onClick={() => flip(one)}>{one.enabled ? "Turn off" : "Turn on"}</Button>
                <Button needs="submit" onClick={() => edit(one)}>Edit…</Button>
                <Button needs="submit" kind="main" onClick={() => fire(one)}>Fire now</Button>
              </span>
            </header>
            <dl class="inline">
              <dt>When</dt><dd><code>{when(one)}</code> <span class="soft">{one.cron ? one.timezone : ""}</span></dd>
              <dt>Next</dt><dd>{one.next_trigger_at ? <>{clock(one.next_trigger_at)} (<Until at={one.next_trigger_at} />)</> : "none"}</dd>
              <dt>Last</dt><dd>{one.last_triggered_at ? <Ago at={one.last_triggered_at} /> : "never"}</dd>
              <dt>Template</dt><dd><bdi>{names.get(one.template_id)?.name ?? "archived"}</bdi></dd>
            </dl>
            <Strip jobs={recent.filter((job) => job.schedule_id === one.schedule_id)} />
          </li>
        ))}
      </ul>
      {edited && <Edit schedule={edited} close={() => edit(null)} />}
    </>
  );
}

const when = (one: Schedule) => one.cron ?? (one.every ? `every ${typeof one.every === "number" ? span(one.every * 1000) : one.every}` : one.at ? clock(one.at) : "");

async function flip(one: Schedule): Promise<void> {
  await change("PATCH", `/api/schedules/${one.schedule_id}`, { enabled: !one.enabled });
  tick();
}

async function fire(one: Schedule): Promise<void> {
  const job = await change<Job>("POST", `/api/schedules/${one.schedule_id}/trigger`);
  say(`Job ${job.number} was made.`);
  go(`/jobs/${job.number}`);
}

function Strip({ jobs }: { jobs: Job[] }) {
  if (!jobs.length) return null;
  return (
    <div class="strip" role="group" aria-label="Outcomes of its latest jobs, newest first">
      {jobs.slice(0, 30).map((job) => (
        <a key={job.number} href={`/jobs/${job.number}`} class={tone(job.status)} title={`job ${job.number}: ${lower(job.status)}`} aria-label={`job ${job.number}: ${lower(job.status)}`} />
      ))}
    </div>
  );
}

function Edit({ schedule, close }: { schedule: Schedule; close: () => void }) {
  const kind = schedule.cron !== null ? "cron" : schedule.every !== null ? "every" : "at";
  const [value, setValue] = useState(String(schedule[kind] ?? ""));
  const [timezone, setTimezone] = useState(schedule.timezone);
  const fires = useData<Page<{ at: string; weekday: string }>>(`/api/schedules/${schedule.schedule_id}/next?n=5`).value;
  const save = async () => {
    await change("PATCH", `/api/schedules/${schedule.schedule_id}`, { [kind]: value, ...(kind === "cron" && { timezone }) });
    close();
    tick();
  };
  return (
    <Dialog title={`Edit ${schedule.name ?? "schedule"}`} onClose={close}>
      <label>{kind === "cron" ? "Cron expression" : kind === "every" ? "Every" : "At"}<input value={value} onInput={(event) => setValue(event.currentTarget.value)} /></label>
      {kind === "cron" && <label>Timezone<input value={timezone} onInput={(event) => setTimezone(event.currentTarget.value)} /></label>}
      {fires && <><p class="soft">Next, as it is now:</p><ul class="preview">{fires.items.map((one) => <li key={one.at}>{one.weekday} {clock(one.at)}</li>)}</ul></>}
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" onClick={save}>Save</Button>
      </footer>
    </Dialog>
  );
}
