// Templates: what schedules and people make jobs from.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData } from "../data";
import { tick } from "../live";
import type { JobType, Page, Template } from "../types";
import { work } from "../words";
import { Fields, read, type Texts } from "./form";
import { Button, Card, Dialog, Empty } from "./ui";

export function Templates({ templates }: { templates: Template[] }) {
  const [asks, ask] = useState(false);
  const active = templates.filter((one) => one.status === "ACTIVE");
  const archive = async (one: Template) => {
    await change("DELETE", `/api/job-templates/${one.template_id}`);
    tick();
  };
  return (
    <Card title="Templates" more={<Button needs="submit" onClick={() => ask(true)}>New template…</Button>}>
      {!active.length && <Empty>There is no template. One keeps a type of job with its params under a name.</Empty>}
      <ul class="list">
        {active.map((one) => (
          <li key={one.template_id}>
            <span class="two"><bdi class="work">{one.name}</bdi><bdi class="work note">{one.job_type} {work({ job_type: one.job_type, params: one.params }).rest}</bdi></span>
            <span class="grow" />
            <a href={`/jobs?template_id=${one.template_id}`}>Its jobs</a>
            <Button needs="submit" label={`Archive the template ${one.name}`} onClick={() => archive(one)}>Archive</Button>
          </li>
        ))}
      </ul>
      {asks && <NewTemplate close={() => ask(false)} />}
    </Card>
  );
}

function NewTemplate({ close }: { close: () => void }) {
  const types = useData<Page<JobType>>("/api/job-types").value?.items ?? [];
  const [name, setName] = useState("");
  const [chosen, choose] = useState("");
  const [texts, setTexts] = useState<Texts>({});
  const form = types.find((one) => one.job_type === chosen)?.form;
  const optional = form && { ...form, required: [] };
  const save = async () => {
    await change("POST", "/api/job-templates", { name, job_type: chosen, params: optional ? read(optional, texts) : {} });
    close();
    tick();
  };
  return (
    <Dialog title="New template" onClose={close}>
      <label>Its name<input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <label>
        Type of its jobs
        <select value={chosen} onChange={(event) => { choose(event.currentTarget.value); setTexts({}); }}>
          <option value="">choose a type</option>
          {types.map((one) => <option key={one.job_type}>{one.job_type}</option>)}
        </select>
      </label>
      {optional && <Fields schema={optional} texts={texts} set={setTexts} />}
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" disabled={!name || !chosen} onClick={save}>Make</Button>
      </footer>
    </Dialog>
  );
}
