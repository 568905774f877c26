// Tokens, and the log of what was done with them.

import { useState } from "preact/hooks";
import { change } from "../api";
import { useData, useList } from "../data";
import { tick } from "../live";
import { Ago, Button, copy, Dialog, Failure, More } from "../parts/ui";
import type { AuditEntry, Page, Role, Token } from "../types";
import { clock } from "../words";

export function Tokens() {
  const { value, problem } = useData<Page<Token>>("/api/tokens?limit=200");
  const [asks, ask] = useState(false);
  const revoke = async (one: Token) => {
    await change("DELETE", `/api/tokens/${one.token_id}`);
    tick();
  };
  return (
    <>
      <header class="head"><h1>Tokens</h1><Button needs="admin" kind="main" onClick={() => ask(true)}>New token…</Button></header>
      <Failure problem={problem} />
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
