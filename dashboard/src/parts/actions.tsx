// What can be done about a job: decide, stop, try again, move, change.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData } from "../data";
import { tick } from "../live";
import { go } from "../router";
import type { Job, RewindReport, Run } from "../types";
import { count, hasEnded, isGood } from "../words";
import { JobLink } from "./ids";
import { Button, Dialog, Failure, say, Work } from "./ui";

const MOST_SHOWN = 50;

export function Actions({ job, run }: { job: Job; run?: Run }) {
  const [asked, ask] = useState<"approve" | "reject" | "cancel" | "rewind" | "change" | null>(null);
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
      {!ended && job.status !== "RUNNING" && <Button needs="submit" onClick={() => ask("change")}>Change…</Button>}
      {!ended && job.queue_position !== null && job.queue_position > 1 && <Button needs="submit" onClick={() => toFront(job)}>Move to the front</Button>}
      {!ended && <Button needs="submit" kind="danger" onClick={() => ask("cancel")}>Cancel…</Button>}
      {ended && !isGood(job.status) && run?.status === "FAILED" && !job.retried_by && <Button needs="submit" kind="main" onClick={again}>Retry</Button>}
      {ended && <Button needs="submit" onClick={() => ask("rewind")}>Rewind…</Button>}
      {asked === "rewind" && <Rewind job={job} close={() => ask(null)} />}
      {asked === "change" && <Change job={job} close={() => ask(null)} />}
      {(asked === "approve" || asked === "reject" || asked === "cancel") && <WithReason action={asked} job={job} close={() => ask(null)} />}
    </div>
  );
}

async function toFront(job: Job): Promise<void> {
  await change("POST", `/api/jobs/${job.number}/move`, { queue_position: 1 });
  say(`Job ${job.number} is the first of its priority.`);
  tick();
}

function Change({ job, close }: { job: Job; close: () => void }) {
  const [priority, setPriority] = useState(String(job.priority));
  const [params, setParams] = useState(JSON.stringify(job.params, null, 2));
  const save = async () => {
    await change("PATCH", `/api/jobs/${job.number}`, { priority: Number(priority), params: JSON.parse(params) as unknown });
    close();
    tick();
  };
  return (
    <Dialog title={`Change job ${job.number}`} onClose={close}>
      <label>Priority (a higher one goes first)<input type="number" min="-1000" max="1000" value={priority} onInput={(event) => setPriority(event.currentTarget.value)} /></label>
      <label>Params (JSON)<textarea rows={8} value={params} onInput={(event) => setParams(event.currentTarget.value)} /></label>
      <footer>
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" onClick={save}>Save</Button>
      </footer>
    </Dialog>
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
  const force = isGood(job.status);
  const { value: report, problem } = useData<RewindReport>(`/api/jobs/${job.number}/retry${force ? "?force=true" : ""}`);
  const run = async () => {
    await change("POST", `/api/jobs/${job.number}/retry`, { force });
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
