// Webhooks: endpoints, and what was delivered to them.

import { useState } from "preact/hooks";
import { change, query } from "../api";
import { useData, useList } from "../data";
import { tick } from "../live";
import { JobLink } from "../parts/ids";
import { Ago, Button, Card, copy, Dialog, Empty, Failure, More, Until } from "../parts/ui";
import { setQuery, useWhere } from "../router";
import type { Delivery, Page, Webhook } from "../types";
import { lower } from "../words";

const STATUSES = ["", "PENDING", "DELIVERED", "FAILED"];

export function Webhooks() {
  const status = useWhere().query.get("status") ?? "";
  const hooks = useData<Page<Webhook>>("/api/webhooks?limit=200");
  const list = useList<Delivery>(query("/api/webhook-deliveries", { limit: 100, status }), (one) => one.delivery_id);
  const [asks, ask] = useState(false);
  return (
    <>
      <h1>Webhooks</h1>
      <Failure problem={hooks.problem} />
      <Card wide title="Endpoints" more={<Button needs="admin" onClick={() => ask(true)}>New endpoint…</Button>}>
        {hooks.value?.items.length === 0 && <Empty>No endpoint is registered. Jobs may still have their own.</Empty>}
        <ul class="list">{hooks.value?.items.map((one) => <Endpoint key={one.webhook_id} hook={one} />)}</ul>
      </Card>
      <div class="tabs" role="group" aria-label="Deliveries">
        {STATUSES.map((word) => <button type="button" key={word} aria-pressed={word === status} onClick={() => setQuery({ status: word })}>{word ? lower(word) : "all deliveries"}</button>)}
      </div>
      <Failure problem={list.problem} />
      {list.value?.length === 0 && <Empty>{status ? `No delivery is ${lower(status)}.` : "Nothing has been delivered yet."}</Empty>}
      {!!list.value?.length && (
        <div class="table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead><tr><th>Status</th><th>Event</th><th>Job</th><th>Endpoint</th><th class="wide">Tries</th><th class="wide">When</th><th /></tr></thead>
            <tbody>{list.value.map((one) => <DeliveryRow key={one.delivery_id} one={one} />)}</tbody>
          </table>
        </div>
      )}
      <More load={list.more} busy={list.isLoading} />
      {asks && <NewEndpoint close={() => ask(false)} />}
    </>
  );
}

function Endpoint({ hook }: { hook: Webhook }) {
  const remove = async () => {
    await change("DELETE", `/api/webhooks/${hook.webhook_id}`);
    tick();
  };
  return (
    <li>
      <span class="two"><bdi class="work">{hook.url}</bdi><span class="note">{hook.events.join(", ")}</span></span>
      <span class="grow" />
      <span class="soft"><Ago at={hook.created_at} /></span>
      <Button needs="admin" kind="danger" onClick={remove}>Remove</Button>
    </li>
  );
}

function DeliveryRow({ one }: { one: Delivery }) {
  const again = async () => {
    await change("POST", `/api/webhook-deliveries/${one.delivery_id}/redeliver`);
    tick();
  };
  const tone = { DELIVERED: "good", FAILED: "bad" }[one.status] ?? "wait";
  return (
    <tr>
      <td><span class={`status ${tone}`}>{lower(one.status)}</span></td>
      <td>{one.event}</td>
      <td><JobLink id={one.job_id} /></td>
      <td>
        <bdi class="work">{one.url}</bdi>
        {one.last_error && <div class="note bad">{one.last_error}</div>}
        {one.status === "PENDING" && one.next_attempt_at && one.attempts > 0 && <div class="note">next try <Until at={one.next_attempt_at} /></div>}
      </td>
      <td class="wide number">{one.attempts}</td>
      <td class="wide number"><Ago at={one.created_at} /></td>
      <td class="end">{one.status !== "PENDING" && <Button needs="admin" onClick={again}>Redeliver</Button>}</td>
    </tr>
  );
}

function NewEndpoint({ close }: { close: () => void }) {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState("");
  const [made, setMade] = useState<Webhook | null>(null);
  const make = async () => {
    const named = events.split(/[\s,]+/).filter(Boolean);
    setMade(await change<Webhook>("POST", "/api/webhooks", { url, ...(named.length && { events: named }) }));
    tick();
  };
  return (
    <Dialog title="New endpoint" onClose={close}>
      {made ? (
        <>
          <p>What is sent is signed with this secret. This is the only time it is shown:</p>
          <pre class="json">{made.secret}</pre>
          <footer><button type="button" onClick={() => copy(made.secret!)}>Copy</button><button type="button" class="main" onClick={close}>Done</button></footer>
        </>
      ) : (
        <>
          <label>Address<input type="url" value={url} onInput={(event) => setUrl(event.currentTarget.value)} /></label>
          <label>Events, such as job.failed (empty: all)<input value={events} onInput={(event) => setEvents(event.currentTarget.value)} /></label>
          <footer><button type="button" onClick={close}>Leave it</button><Button kind="main" disabled={!url} onClick={make}>Make</Button></footer>
        </>
      )}
    </Dialog>
  );
}
