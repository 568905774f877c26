// Groups, workers, limits and locks, webhooks, tokens, the audit log.

import { useState } from "preact/hooks";
import { change, query } from "../api";
import { useData, useList } from "../data";
import { tick } from "../live";
import { JobLink } from "../parts/ids";
import { Ago, Button, Dialog, Empty, Failure, may, More, Status, copy } from "../parts/ui";
import { setQuery, useWhere } from "../router";
import type { AuditEntry, Delivery, Group, Limit, Lock, Page, Paused, QueueStatus, Role, Token, Webhook, Worker } from "../types";
import { clock, count, tone } from "../words";

export function Groups({ id }: { id?: string }) {
  const list = useList<Group>("/api/job-groups?limit=50", (group) => group.group_id);
  const one = useData<Group>(id ? `/api/job-groups/${encodeURIComponent(id)}` : null);
  const groups = id ? (one.value ? [one.value] : []) : list.value ?? [];
  return (
    <>
      <h1>{id ? "Group" : "Groups"}</h1>
      {id && <p><a href="/groups">All groups</a></p>}
      <Failure problem={id ? one.problem : list.problem} />
      {!id && list.value?.length === 0 && <Empty>There is no group.</Empty>}
      <ul class="rows">
        {groups.map((group) => (
          <li key={group.group_id} class="card">
            <header>
              <h2><a href={`/groups/${group.group_id}`}><bdi>{group.name ?? group.group_id.slice(-12)}</bdi></a> <Status status={group.status} /></h2>
              <Button needs="submit" kind="danger" disabled={group.members.every((member) => tone(member.status) !== "wait" && member.status !== "RUNNING")} onClick={() => cancelGroup(group)}>Cancel</Button>
            </header>
            <p class="soft">{group.mode}, on failure {group.on_failure}, {count(group.members.length)} jobs, <Ago at={group.created_at} /></p>
            <div class="strip">
              {group.members.slice(0, id ? 2000 : 60).map((member) => (
                <a key={member.job_id} href={`/jobs/${member.number ?? member.job_id}`} class={tone(member.status)} title={`${member.number}: ${member.status}`} aria-label={`job ${member.number}: ${member.status}`} />
              ))}
            </div>
          </li>
        ))}
      </ul>
      {!id && <More load={list.more} busy={list.isLoading} />}
    </>
  );
}

async function cancelGroup(group: Group): Promise<void> {
  await change("POST", `/api/job-groups/${group.group_id}/cancel`, {});
  tick();
}

export function Workers() {
  const { value, problem } = useData<Page<Worker>>("/api/workers");
  const workers = value?.items ?? [];
  const drain = async (worker: Worker) => {
    await change("POST", `/api/workers/${encodeURIComponent(worker.worker_id)}/drain`, { drained: !worker.draining_since });
    tick();
  };
  return (
    <>
      <h1>Workers</h1>
      <Failure problem={problem} />
      {value && !workers.length && <Empty>No worker has registered: nothing can start.</Empty>}
      <div class="table" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead><tr><th>Worker</th><th>State</th><th>Busy</th><th class="wide">Takes</th><th>Seen</th><th /></tr></thead>
          <tbody>
            {workers.map((worker) => (
              <tr key={worker.worker_id}>
                <td><bdi>{worker.worker_id}</bdi><div class="note">{worker.built_in ? "built in, " : ""}{worker.host}, process {worker.pid}</div></td>
                <td><span class={`status ${worker.gone ? "calm" : worker.alive ? "good" : "bad"}`}>{worker.gone ? "gone" : worker.draining_since ? "draining" : worker.alive ? "alive" : "silent"}</span></td>
                <td class="number">{worker.holds.length} / {worker.slots}<meter value={worker.holds.length} max={worker.slots} aria-label="Slots in use" /></td>
                <td class="wide"><bdi>{worker.job_types?.slice(0, 6).join(", ") ?? "every type"}</bdi><div class="note">{worker.queues ? `queues ${worker.queues.join(", ")}` : "every queue"}{worker.capabilities.length ? `, ${worker.capabilities.join(", ")}` : ""}</div></td>
                <td><Ago at={worker.last_seen} /></td>
                <td>{!worker.gone && <Button needs="admin" onClick={() => drain(worker)}>{worker.draining_since ? "Resume" : "Drain"}</Button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Limits() {
  const limits = useData<Page<Limit>>("/api/limits");
  const locks = useData<Page<Lock>>("/api/locks");
  const queue = useData<QueueStatus>("/api/queue/status");
  const [edited, edit] = useState<Limit | null>(null);
  return (
    <>
      <h1>Limits and locks</h1>
      <Failure problem={limits.problem ?? locks.problem} />
      <div class="columns">
        <section class="card">
          <header><h2>Limits</h2><Button needs="admin" onClick={() => edit({ name: "", size: 1, rate: null, used: 0, started: null })}>New…</Button></header>
          {limits.value?.items.length === 0 && <Empty>There is no limit.</Empty>}
          <ul class="bars">
            {limits.value?.items.map((one) => (
              <li key={one.name}>
                <bdi>{one.name}</bdi>
                {one.size !== null ? <meter value={one.used} max={Math.max(1, one.size)} high={one.size - 0.5} aria-label={`${one.used} of ${one.size}`} /> : <span />}
                <span class="number">{one.size !== null ? `${one.used} / ${one.size}` : one.used}</span>
                <span class="soft">{one.rate ? `${one.started ?? 0} started of ${one.rate}` : ""} <Button needs="admin" kind="plain" onClick={() => edit(one)}>Change…</Button></span>
              </li>
            ))}
          </ul>
        </section>
        <section class="card">
          <header><h2>Locks</h2></header>
          {locks.value?.items.length === 0 && <Empty>No lock is held.</Empty>}
          <ul class="list">
            {locks.value?.items.map((lock) => (
              <li key={lock.key}>
                <bdi>{lock.key}</bdi>
                <span>{lock.holders.map((holder) => <span key={holder.job_id}> held by <JobLink id={holder.job_id} number={holder.number} /> ({holder.mode}, <Ago at={holder.since} />)</span>)}</span>
                <span class="grow" />
                {lock.waiting > 0 && <span class="status wait">{count(lock.waiting)} waiting</span>}
              </li>
            ))}
          </ul>
        </section>
        <section class="card">
          <header><h2>Pauses</h2></header>
          <Pauses paused={queue.value?.paused ?? []} />
        </section>
      </div>
      {edited && <EditLimit limit={edited} close={() => edit(null)} />}
    </>
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

export const pauseName = (one: Paused) =>
  [one.queue && `queue ${one.queue}`, one.job_type && `type ${one.job_type}`].filter(Boolean).join(", ") || "everything";

function Pauses({ paused }: { paused: Paused[] }) {
  const [queue, setQueue] = useState("");
  const resume = async (one: Paused) => {
    await change("POST", "/api/queue/resume", { queue: one.queue, job_type: one.job_type });
    tick();
  };
  const pause = async () => {
    await change("POST", "/api/queue/pause", queue ? { queue } : {});
    setQueue("");
    tick();
  };
  return (
    <>
      {!paused.length && <Empty>Nothing is paused.</Empty>}
      <ul class="list">
        {paused.map((one) => <li key={pauseName(one)}>{pauseName(one)} <span class="soft">since <Ago at={one.since} /></span><span class="grow" /><Button needs="admin" onClick={() => resume(one)}>Resume</Button></li>)}
      </ul>
      {may("admin") && <div class="row"><input aria-label="Queue to pause; empty for everything" placeholder="queue, or empty for all" value={queue} onInput={(event) => setQueue(event.currentTarget.value)} /><Button kind="danger" onClick={pause}>Pause {queue || "everything"}</Button></div>}
    </>
  );
}

export function Webhooks() {
  const status = useWhere().query.get("status") ?? "";
  const hooks = useData<Page<Webhook>>("/api/webhooks?limit=200");
  const list = useList<Delivery>(query("/api/webhook-deliveries", { limit: 100, status }), (one) => one.delivery_id);
  const again = async (one: Delivery) => {
    await change("POST", `/api/webhook-deliveries/${one.delivery_id}/redeliver`);
    tick();
  };
  return (
    <>
      <h1>Webhooks</h1>
      <Failure problem={hooks.problem} />
      <section class="card wide">
        <header><h2>Endpoints</h2></header>
        {hooks.value?.items.length === 0 && <Empty>No endpoint is registered. Jobs may still have their own.</Empty>}
        <ul class="list">{hooks.value?.items.map((one) => <li key={one.webhook_id}><bdi class="work">{one.url}</bdi><span class="grow" /><span class="soft">{one.events.join(", ")}</span></li>)}</ul>
      </section>
      <div class="tabs" role="group" aria-label="Deliveries">
        {["", "PENDING", "DELIVERED", "FAILED"].map((word) => <button type="button" key={word} aria-pressed={word === status} onClick={() => setQuery({ status: word })}>{word ? word.toLowerCase() : "all"}</button>)}
      </div>
      <Failure problem={list.problem} />
      {list.value?.length === 0 && <Empty>No delivery.</Empty>}
      {!!list.value?.length && (
        <div class="table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead><tr><th>Status</th><th>Event</th><th>Job</th><th>Endpoint</th><th class="wide">Tries</th><th>When</th><th /></tr></thead>
            <tbody>
              {list.value.map((one) => (
                <tr key={one.delivery_id}>
                  <td><span class={`status ${one.status === "DELIVERED" ? "good" : one.status === "FAILED" ? "bad" : "wait"}`}>{one.status.toLowerCase()}</span></td>
                  <td>{one.event}</td>
                  <td><JobLink id={one.job_id} /></td>
                  <td><bdi class="work">{one.url}</bdi>{one.last_error && <div class="note bad">{one.last_error}</div>}</td>
                  <td class="wide number">{one.attempts}</td>
                  <td><Ago at={one.created_at} /></td>
                  <td>{one.status !== "PENDING" && <Button needs="admin" onClick={() => again(one)}>Redeliver</Button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More load={list.more} busy={list.isLoading} />
    </>
  );
}

export function Tokens() {
  const { value, problem } = useData<Page<Token>>("/api/tokens?limit=200");
  const [asks, ask] = useState(false);
  const revoke = async (one: Token) => {
    await change("DELETE", `/api/tokens/${one.token_id}`);
    tick();
  };
  return (
    <>
      <h1>Tokens</h1>
      <Failure problem={problem} />
      <p><Button needs="admin" kind="main" onClick={() => ask(true)}>New token…</Button></p>
      <div class="table" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead><tr><th>Name</th><th>Role</th><th>Made</th><th>Last used</th><th>Ends</th><th /></tr></thead>
          <tbody>
            {value?.items.map((one) => (
              <tr key={one.token_id}>
                <td><bdi>{one.name}</bdi></td>
                <td>{one.role}</td>
                <td><Ago at={one.created_at} /></td>
                <td>{one.last_used_at ? <Ago at={one.last_used_at} /> : "never"}</td>
                <td>{one.revoked_at ? <span class="status calm">revoked</span> : one.expires_at ? clock(one.expires_at) : "never"}</td>
                <td>{!one.revoked_at && <Button needs="admin" kind="danger" onClick={() => revoke(one)}>Revoke</Button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {asks && <NewToken close={() => ask(false)} />}
    </>
  );
}

function NewToken({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("read");
  const [days, setDays] = useState("");
  const [made, setMade] = useState<Token | null>(null);
  const make = async () => {
    setMade(await change<Token>("POST", "/api/tokens", { name, role, ...(days && { expires_in_s: Number(days) * 86_400 }) }));
    tick();
  };
  return (
    <Dialog title="New token" onClose={close}>
      {made ? (
        <>
          <p>This is the only time it is shown:</p>
          <pre class="json">{made.token}</pre>
          <footer><button type="button" onClick={() => copy(made.token!)}>Copy</button><button type="button" class="main" onClick={close}>Done</button></footer>
        </>
      ) : (
        <>
          <label>Name<input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
          <label>Role<select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>{["read", "submit", "work", "admin"].map((one) => <option key={one}>{one}</option>)}</select></label>
          <label>Ends after days (empty: never)<input type="number" min="1" value={days} onInput={(event) => setDays(event.currentTarget.value)} /></label>
          <footer><button type="button" onClick={close}>Leave it</button><Button kind="main" disabled={!name} onClick={make}>Make</Button></footer>
        </>
      )}
    </Dialog>
  );
}

export function Audit() {
  const list = useList<AuditEntry>("/api/audit?limit=100", (one) => one.entry_id);
  return (
    <>
      <h1>Audit log</h1>
      <Failure problem={list.problem} />
      <div class="table" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead><tr><th>When</th><th>Who</th><th>Did</th><th>To</th></tr></thead>
          <tbody>
            {list.value?.map((one) => (
              <tr key={one.entry_id}><td><Ago at={one.at} /></td><td><bdi>{one.actor}</bdi> <span class="soft">{one.role}</span></td><td>{one.action.replaceAll("_", " ")}</td><td><bdi>{one.target}</bdi></td></tr>
            ))}
          </tbody>
        </table>
      </div>
      <More load={list.more} busy={list.isLoading} />
    </>
  );
}
