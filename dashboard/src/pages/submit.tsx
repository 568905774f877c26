import { useState } from "preact/hooks";
import { change } from "../api";
import { useData } from "../data";
import { Button, Dialog, say } from "../parts/ui";
import { go } from "../router";
import type { Job, Page, Template, Worker } from "../types";

/** A form for a new job, of a type that a worker takes or from a template. */
export function Submit({ close }: { close: () => void }) {
  const workers = useData<Page<Worker>>("/api/workers").value?.items ?? [];
  const templates = useData<Page<Template>>("/api/job-templates?limit=200").value?.items ?? [];
  const types = [...new Set(workers.flatMap((worker) => worker.job_types ?? []))].sort();
  const [name, setName] = useState("");
  const [params, setParams] = useState("{}");
  const [priority, setPriority] = useState("");
  const [delay, setDelay] = useState("");
  const template = templates.find((one) => `template ${one.name}` === name);
  const submit = async () => {
    let given: unknown;
    try {
      given = JSON.parse(params || "{}");
    } catch (error) {
      throw new Error(`The params are no JSON: ${error instanceof Error ? error.message : ""}`);
    }
    const job = await change<Job>("POST", "/api/jobs", {
      ...(template ? { template: template.name } : { job_type: name }),
      params: given,
      ...(priority && { priority: Number(priority) }),
      ...(delay && { delay_s: Number(delay) }),
    });
    say(`Job ${job.number} was submitted.`);
    close();
    go(`/jobs/${job.number}`);
  };
  return (
    <Dialog title="Submit a job" onClose={close}>
      <label>
        Type or template
        <input list="known-work" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <datalist id="known-work">
          {templates.filter((one) => one.status === "ACTIVE").map((one) => <option key={one.template_id} value={`template ${one.name}`} />)}
          {types.map((one) => <option key={one} value={one} />)}
        </datalist>
      </label>
      <label>Params (JSON)<textarea rows={6} value={params} onInput={(event) => setParams(event.currentTarget.value)} /></label>
      <div class="row">
        <label>Priority<input type="number" min="-1000" max="1000" placeholder="0" value={priority} onInput={(event) => setPriority(event.currentTarget.value)} /></label>
        <label>Delay in seconds<input type="number" min="0" placeholder="0" value={delay} onInput={(event) => setDelay(event.currentTarget.value)} /></label>
      </div>
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" disabled={!name} onClick={submit}>Submit</Button>
      </footer>
    </Dialog>
  );
}
