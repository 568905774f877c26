// A new job: of a type that this server or a worker knows, or from a template.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData } from "../data";
import { Fields, read, type Texts } from "../parts/form";
import { Button, Dialog, Failure, say } from "../parts/ui";
import { go } from "../router";
import type { Job, JobType, Page, Template } from "../types";

export function Submit({ close }: { close: () => void }) {
  const types = useData<Page<JobType>>("/api/job-types");
  const templates = (useData<Page<Template>>("/api/job-templates?limit=200").value?.items ?? []).filter((one) => one.status === "ACTIVE");
  const [chosen, choose] = useState("");
  const [texts, setTexts] = useState<Texts>({});
  const [json, setJson] = useState("{}");
  const [terms, setTerms] = useState<Texts>({});
  const template = templates.find((one) => `template ${one.template_id}` === chosen);
  const type = types.value?.items.find((one) => one.job_type === (template?.job_type ?? chosen));
  const form = template ? withDefaults(type, template) : type?.form;
  const pick = (name: string) => {
    choose(name);
    setTexts({});
    setJson("{}");
  };
  const submit = async () => {
    const params = form ? read(form, texts) : parsed(json);
    const job = await change<Job>("POST", "/api/jobs", { ...(template ? { template: template.name } : { job_type: chosen }), params, ...termsOf(terms) });
    say(`Job ${job.number} was submitted.`);
    close();
    go(`/jobs/${job.number}`);
  };
  return (
    <Dialog title="Submit a job" onClose={close}>
      <Failure problem={types.problem} />
      <label>
        What
        <select value={chosen} onChange={(event) => pick(event.currentTarget.value)}>
          <option value="">choose a type or a template</option>
          <optgroup label="Types">{types.value?.items.map((one) => <option key={one.job_type} value={one.job_type}>{one.job_type}</option>)}</optgroup>
          {templates.length > 0 && <optgroup label="Templates">{templates.map((one) => <option key={one.template_id} value={`template ${one.template_id}`}>{one.name}</option>)}</optgroup>}
        </select>
      </label>
      {(template?.description ?? type?.description) && <p class="soft">{template?.description ?? type?.description}</p>}
      {type && !type.workers && <p class="note bad">No worker takes this type now: the job will wait for one.</p>}
      {chosen && form && <Fields schema={form} texts={texts} set={setTexts} />}
      {chosen && !form && <label>Params (JSON; another process has the handler)<textarea rows={5} value={json} onInput={(event) => setJson(event.currentTarget.value)} /></label>}
      {chosen && <Terms terms={terms} set={setTerms} />}
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" disabled={!chosen} onClick={submit}>Submit</Button>
      </footer>
    </Dialog>
  );
}

/** The form of a template's type, with the template's own params as what is usual. */
function withDefaults(type: JobType | undefined, template: Template): JobType["form"] {
  if (!type?.form) return null;
  const properties = Object.fromEntries(
    Object.entries(type.form.properties ?? {}).map(([name, shape]) => [name, name in template.params ? { ...shape, default: template.params[name] } : shape]),
  );
  return { ...type.form, properties, required: type.form.required?.filter((name) => !(name in template.params)) };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json || "{}");
  } catch (error) {
    throw new Error(`The params are no JSON: ${error instanceof Error ? error.message : ""}`);
  }
}

const TERMS: [name: string, label: string, kind: string, hint: string][] = [
  ["queue", "Queue", "text", "default"],
  ["priority", "Priority", "number", "0"],
  ["delay_s", "Delay in seconds", "number", "0"],
  ["tags", "Tags", "text", "none"],
  ["after", "After the jobs", "text", "numbers"],
];

function Terms({ terms, set }: { terms: Texts; set: (terms: Texts) => void }) {
  return (
    <details>
      <summary>When and where</summary>
      <div class="fields">
        {TERMS.map(([name, label, kind, hint]) => (
          <label key={name}>{label}<input type={kind} placeholder={hint} value={terms[name] ?? ""} onInput={(event) => set({ ...terms, [name]: event.currentTarget.value })} /></label>
        ))}
      </div>
      <label class="check"><input type="checkbox" checked={terms.approval === "true"} onChange={(event) => set({ ...terms, approval: event.currentTarget.checked ? "true" : "" })} /> a person must approve it</label>
    </details>
  );
}

function termsOf({ queue, priority, delay_s, tags, after, approval }: Texts) {
  const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);
  return {
    ...(queue && { queue }),
    ...(priority && { priority: Number(priority) }),
    ...(delay_s && { delay_s: Number(delay_s) }),
    ...(tags && { tags: words(tags) }),
    ...(after && { after: words(after).map((one) => (/^\d+$/.test(one) ? Number(one) : one)) }),
    ...(approval && { approval: true }),
  };
}
