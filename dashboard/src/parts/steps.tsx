// The journal of a program: its steps, sleeps, signals and children, and giving it a signal.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData } from "../data";
import { tick } from "../live";
import type { Job, Page, Step } from "../types";
import { span } from "../words";
import { Ago, Button, Card, Dialog, Json, say } from "./ui";

const AWAITS = /^awaiting signal (.+)$/;

export function Steps({ job, path }: { job: Job; path: string }) {
  const steps = useData<Page<Step>>(`${path}/steps`).value?.items ?? [];
  const [sends, send] = useState(false);
  const awaited = AWAITS.exec(job.wait_reason?.detail ?? "")?.[1];
  if (!steps.length && job.status !== "SUSPENDED") return null;
  return (
    <Card title="Steps" more={awaited && <Button needs="submit" kind="main" onClick={() => send(true)}>Send the signal {awaited}…</Button>}>
      <ol class="steps">
        {steps.map((step) => <StepLine key={`${step.kind} ${step.name} ${step.index}`} step={step} />)}
      </ol>
      {sends && awaited && <Signal job={job} name={awaited} close={() => send(false)} />}
    </Card>
  );
}

function StepLine({ step }: { step: Step }) {
  const said = step.timed_out ? "did not come in time" : step.finished_at ? "" : "waits";
  return (
    <li>
      <details>
        <summary>
          <span class={step.timed_out ? "bad" : step.finished_at ? "good" : "wait"} aria-hidden="true">{step.timed_out ? "✗" : step.finished_at ? "✓" : "…"}</span>
          <span class="soft">{step.kind}</span> <bdi class="work">{step.name}{step.index > 0 && ` (${step.index + 1})`}</bdi> <span class="soft">{said}</span>
          <span class="grow" />
          {step.duration_ms !== null && <span class="number">{span(step.duration_ms)}</span>}
          <span class="number soft"><Ago at={step.finished_at ?? step.started_at} /></span>
        </summary>
        <Json value={step.result} />
      </details>
    </li>
  );
}

function Signal({ job, name, close }: { job: Job; name: string; close: () => void }) {
  const [text, setText] = useState("");
  const run = async () => {
    const payload = text.trim() ? (JSON.parse(text) as unknown) : null;
    await change("POST", `/api/jobs/${job.number}/signals/${encodeURIComponent(name)}`, { payload });
    say(`Job ${job.number} has the signal ${name}.`);
    close();
    tick();
  };
  return (
    <Dialog title={`Send ${name} to job ${job.number}?`} onClose={close}>
      <label>What it says (JSON; may be empty)<textarea rows={4} placeholder={'{"by": "ann"}'} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" onClick={run}>Send</Button>
      </footer>
    </Dialog>
  );
}
