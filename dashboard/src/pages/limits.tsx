// Limits, locks and pauses: how much may run at once, who holds what, who waits.

import { useState } from "preact/hooks";
import { change } from "../api";
import { QUEUE_STATUS_MS, useData } from "../data";
import { tick } from "../live";
import { JobLink } from "../parts/ids";
import { pause, pauseName, resume } from "../parts/pauses";
import { Ago, Button, Card, Dialog, Empty, Failure, may, Meter } from "../parts/ui";
import type { Limit, Lock, Page, Paused, QueueStatus } from "../types";
import { count } from "../words";

const NEW: Limit = { name: "", size: 1, rate: null, used: 0, started: null };

export function Limits() {
  const limits = useData<Page<Limit>>("/api/limits");
  const locks = useData<Page<Lock>>("/api/locks");
  const queue = useData<QueueStatus>("/api/queue/status", QUEUE_STATUS_MS);
  const [edited, edit] = useState<Limit | null>(null);
  return (
    <>
      <h1>Limits and locks</h1>
      <Failure problem={limits.problem ?? locks.problem ?? queue.problem} />
      <div class="halves">
        <div class="stack">
          <Card title="Limits" more={<Button needs="admin" onClick={() => edit(NEW)}>New limit…</Button>}>
            {limits.value?.items.length === 0 && <Empty>There is no limit.</Empty>}
            <ul class="list">{limits.value?.items.map((one) => <LimitRow key={one.name} limit={one} edit={edit} />)}</ul>
          </Card>
          <Card title="Pauses"><Pauses paused={queue.value?.paused ?? []} /></Card>
        </div>
        <Card title="Locks">
          {locks.value?.items.length === 0 && <Empty>No lock is held.</Empty>}
          <ul class="list">{locks.value?.items.map((lock) => <LockRow key={lock.key} lock={lock} />)}</ul>
        </Card>
      </div>
      {edited && <EditLimit limit={edited} close={() => edit(null)} />}
    </>
  );
}

function LimitRow({ limit, edit }: { limit: Limit; edit: (limit: Limit) => void }) {
  const isFull = limit.size !== null && limit.used >= limit.size;
  return (
    <li>
      <bdi class="work">{limit.name}</bdi>
      {isFull && <span class="status wait">full</span>}
      <span class="grow" />
      {limit.rate && <span class="soft">{limit.started ?? 0} started of {limit.rate}</span>}
      {limit.size !== null && <Meter value={limit.used} most={limit.size} label={`${limit.used} of ${limit.size} in use`} />}
      <span class="number">{limit.size !== null ? `${count(limit.used)} / ${count(limit.size)}` : `${count(limit.used)} in use`}</span>
      <Button needs="admin" kind="plain" label={`Change the limit ${limit.name}`} onClick={() => edit(limit)}>Change…</Button>
    </li>
  );
}

function LockRow({ lock }: { lock: Lock }) {
  return (
    <li>
      <span class="two">
        <bdi class="work">{lock.key}</bdi>
        <span class="note">
          {lock.holders.length ? "held by " : "held by no job"}
          {lock.holders.map((holder, place) => <span key={holder.job_id}>{place > 0 && ", "}job <JobLink id={holder.job_id} number={holder.number} /> ({holder.mode}, <Ago at={holder.since} />)</span>)}
        </span>
      </span>
      <span class="grow" />
      {lock.waiting > 0 && <span class="status wait">{count(lock.waiting)} waiting</span>}
    </li>
  );
}

function EditLimit({ limit, close }: { limit: Limit; close: () => void }) {
  const [name, setName] = useState(limit.name);
  const [size, setSize] = useState(limit.size === null ? "" : String(limit.size));
  const [rate, setRate] = useState(limit.rate ?? "");
  const path = `/api/limits/${encodeURIComponent(name)}`;
  const done = () => {
    close();
    tick();
  };
  const save = async () => {
    await change("PUT", path, { size: size === "" ? null : Number(size), rate: rate || null });
    done();
  };
  const remove = async () => {
    await change("DELETE", path);
    done();
  };
  return (
    <Dialog title={limit.name ? `Limit ${limit.name}` : "New limit"} onClose={close}>
      {!limit.name && <label>Name<input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>}
      <label>At the same time<input type="number" min="0" value={size} onInput={(event) => setSize(event.currentTarget.value)} /></label>
      <label>Rate, such as 10/1m<input value={rate} onInput={(event) => setRate(event.currentTarget.value)} /></label>
      <footer>
        {limit.name && <Button kind="danger" onClick={remove}>Remove</Button>}
        <button type="button" onClick={close}>Leave it</button>
        <Button kind="main" disabled={!name} onClick={save}>Save</Button>
      </footer>
    </Dialog>
  );
}

type Kind = "everything" | "queue" | "job_type";

function Pauses({ paused }: { paused: Paused[] }) {
  const [kind, setKind] = useState<Kind>("everything");
  const [name, setName] = useState("");
  const start = async () => {
    await pause(kind === "everything" ? {} : { [kind]: name });
    setName("");
  };
  return (
    <>
      {!paused.length && <Empty>Nothing is paused.</Empty>}
      <ul class="list">
        {paused.map((one) => <li key={pauseName(one)}><bdi class="work">{pauseName(one)}</bdi> <span class="soft">since <Ago at={one.since} /></span><span class="grow" /><Button needs="admin" onClick={() => resume(one)}>Resume</Button></li>)}
      </ul>
      {may("admin") && (
        <div class="row">
          <select aria-label="What to pause" value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
            <option value="everything">everything</option>
            <option value="queue">a queue</option>
            <option value="job_type">a job type</option>
          </select>
          {kind !== "everything" && <input aria-label="Its name" placeholder="name" value={name} onInput={(event) => setName(event.currentTarget.value)} />}
          <Button kind="danger" disabled={kind !== "everything" && !name} onClick={start}>Pause</Button>
        </div>
      )}
    </>
  );
}
