// Workers: who takes what, and what they are doing.

import { change } from "../api";
import { useData } from "../data";
import { tick } from "../live";
import { JobLink } from "../parts/ids";
import { Ago, Button, Empty, Failure, Meter } from "../parts/ui";
import type { Page, Worker } from "../types";

const MOST_TYPES = 6;
const MOST_HELD = 8;

export function Workers() {
  const { value, problem } = useData<Page<Worker>>("/api/workers");
  const workers = [...(value?.items ?? [])].sort((one, other) => Number(one.gone) - Number(other.gone));
  return (
    <>
      <h1>Workers</h1>
      <Failure problem={problem} />
      {value && !workers.length && <Empty>No worker has registered: nothing can start. <code>headway worker --app module:app</code> starts one.</Empty>}
      {!value && !problem && <Empty>Loading…</Empty>}
      {workers.length > 0 && (
        <div class="table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead><tr><th>Worker</th><th>State</th><th>Slots</th><th class="wide">Doing</th><th class="wide">Takes</th><th class="wide">Seen</th><th /></tr></thead>
            <tbody>{workers.map((worker) => <Row key={worker.worker_id} worker={worker} />)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}

function Row({ worker }: { worker: Worker }) {
  const drain = async () => {
    await change("POST", `/api/workers/${encodeURIComponent(worker.worker_id)}/drain`, { drained: !worker.draining_since });
    tick();
  };
  const [tone, word] = state(worker);
  return (
    <tr>
      <td><bdi class="work">{worker.worker_id}</bdi><div class="note">{worker.built_in ? "built in, " : ""}{worker.host}, process {worker.pid}</div></td>
      <td><span class={`status ${tone}`}>{word}</span></td>
      <td class="number"><Meter value={worker.holds.length} most={worker.slots} label={`${worker.holds.length} of ${worker.slots} slots`} /> {worker.holds.length} / {worker.slots}</td>
      <td class="wide">
        {worker.holds.slice(0, MOST_HELD).map((id, place) => <span key={id}>{place > 0 && ", "}<JobLink id={id} /></span>)}
        {worker.holds.length > MOST_HELD && ` and ${worker.holds.length - MOST_HELD} more`}
        {!worker.holds.length && <span class="soft">nothing</span>}
      </td>
      <td class="wide wrap"><bdi>{worker.job_types?.slice(0, MOST_TYPES).join(", ") ?? "every type"}{(worker.job_types?.length ?? 0) > MOST_TYPES && " …"}</bdi><div class="note">{worker.queues ? `queues ${worker.queues.join(", ")}` : "every queue"}{worker.capabilities.length ? `, ${worker.capabilities.join(", ")}` : ""}</div></td>
      <td class="wide number"><Ago at={worker.last_seen} /></td>
      <td class="end">{!worker.gone && <Button needs="admin" onClick={drain}>{worker.draining_since ? "Take jobs again" : "Drain"}</Button>}</td>
    </tr>
  );
}

function state(worker: Worker): [tone: string, word: string] {
  if (worker.gone) return ["calm", "gone"];
  if (!worker.alive) return ["bad", "silent"];
  return worker.draining_since ? ["wait", "draining"] : ["good", "alive"];
}
