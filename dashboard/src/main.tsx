// The frame around the pages: signing in, navigation, what is paused, keys.

import { render } from "preact";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { isSignedIn, onSignIn, Problem, signIn, signOut, useCode } from "./api";
import { useData } from "./data";
import { connected, onConnection, start } from "./live";
import { GraphPage } from "./pages/graph";
import { JobPage } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Audit, Groups, Limits, pauseName, Tokens, Webhooks, Workers } from "./pages/others";
import { Overview } from "./pages/overview";
import { Schedules } from "./pages/schedules";
import { Submit } from "./pages/submit";
import { Timeline } from "./pages/timeline";
import { Dialog, Empty, may, Messages, setRole } from "./parts/ui";
import { followLinks, go, useWhere } from "./router";
import type { Me, QueueStatus } from "./types";
import { setServerTime } from "./words";

interface Place {
  path: string;
  name: string;
  admin?: boolean;
}

const PLACES: Place[] = [
  { path: "/", name: "Overview" },
  { path: "/jobs", name: "Jobs" },
  { path: "/graph", name: "Graph" },
  { path: "/timeline", name: "Timeline" },
  { path: "/schedules", name: "Schedules" },
  { path: "/groups", name: "Groups" },
  { path: "/workers", name: "Workers" },
  { path: "/limits", name: "Limits and locks" },
  { path: "/webhooks", name: "Webhooks", admin: true },
  { path: "/tokens", name: "Tokens", admin: true },
  { path: "/audit", name: "Audit log", admin: true },
];

function App() {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => onSignIn(() => redraw(undefined)), []);
  return isSignedIn() ? <SignedIn /> : <Door />;
}

let firstProblem = "";

function Door() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(firstProblem);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await signIn(token.trim());
    } catch (error) {
      const refused = error instanceof Problem && (error.status === 401 || error.status === 403);
      setProblem(refused ? "The server does not know this token, or it has ended." : `The server does not respond: ${String(error)}`);
    }
  };
  return (
    <main class="door">
      <h1>Headway</h1>
      <p>Open the link that <code>headway dashboard</code> prints (it works once), or sign in with a token.</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <form onSubmit={submit}>
        <label>Token<input type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
        <button class="main">Sign in</button>
      </form>
    </main>
  );
}

function SignedIn() {
  const me = useData<Me>("/api/me");
  const [overlay, show] = useState<"palette" | "keys" | "submit" | null>(null);
  useKeys(show);
  if (me.value) {
    setRole(me.value.role);
    setServerTime(me.value.now);
  }
  if (!me.value) return <main class="door"><h1>Headway</h1>{me.problem ? <p class="problem" role="alert">{me.problem.message}</p> : <Empty>Loading…</Empty>}</main>;
  return (
    <>
      <a class="skip" href="#main">Skip to the page</a>
      <Navigation me={me.value} show={show} />
      <main id="main" tabIndex={-1}>
        <Banner />
        <Current />
      </main>
      <Messages />
      {overlay === "palette" && <Palette close={() => show(null)} show={show} />}
      {overlay === "keys" && <Keys close={() => show(null)} />}
      {overlay === "submit" && <Submit close={() => show(null)} />}
    </>
  );
}

function Current() {
  const { steps } = useWhere();
  const [page = "", id] = steps;
  useEffect(() => {
    const name = PLACES.find((place) => place.path === `/${page}`)?.name ?? "Headway";
    document.title = id ? `${name} ${id} – Headway` : `${name} – Headway`;
  }, [page, id]);
  switch (page) {
    case "": return <Overview />;
    case "jobs": return id ? <JobPage key={id} id={id} /> : <Jobs />;
    case "graph": return <GraphPage />;
    case "timeline": return <Timeline />;
    case "schedules": return <Schedules />;
    case "groups": return <Groups id={id} />;
    case "workers": return <Workers />;
    case "limits": return <Limits />;
    case "webhooks": return <Webhooks />;
    case "tokens": return <Tokens />;
    case "audit": return <Audit />;
    default: return <><h1>Not here</h1><Empty>There is no such page. <a href="/">Overview</a></Empty></>;
  }
}

type Show = (overlay: "palette" | "keys" | "submit" | null) => void;

function Navigation({ me, show }: { me: Me; show: Show }) {
  const { steps } = useWhere();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => onConnection(() => redraw(undefined)), []);
  const state = connected();
  const words = { live: "live", lost: "server lost, trying again", connecting: "connecting", off: "" }[state];
  return (
    <nav class="side" aria-label="Pages">
      <p class="brand"><a href="/">Headway</a></p>
      <Search />
      <ul>
        {PLACES.filter((place) => !place.admin || may("admin")).map((place) => (
          <li key={place.path}><a href={place.path} aria-current={`/${steps[0] ?? ""}` === place.path ? "page" : undefined}>{place.name}</a></li>
        ))}
      </ul>
      <div class="foot">
        {may("submit") && <button type="button" class="main" onClick={() => show("submit")}>Submit…</button>}
        <p role="status" class={`live ${state}`}>{words}</p>
        <p class="soft"><bdi>{me.name}</bdi> ({me.role})</p>
        <p><button type="button" class="plain" onClick={() => show("keys")}>Keys</button> <Theme /> <button type="button" class="plain" onClick={signOut}>Sign out</button></p>
      </div>
    </nav>
  );
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("headway-theme") ?? "");
  const next = { "": "dark", dark: "light", light: "" }[theme] ?? "";
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("headway-theme", theme);
  }, [theme]);
  return <button type="button" class="plain" onClick={() => setTheme(next)}>{theme ? `Theme: ${theme}` : "Theme: auto"}</button>;
}

/** Goes to a job by its number or id, or lists jobs: `type:story queue:batch tag:x` or a type. */
function find(text: string): void {
  const wanted = text.trim();
  if (!wanted) return;
  if (/^#?\d+$/.test(wanted) || /^[0-9a-f-]{36}$/.test(wanted)) return go(`/jobs/${wanted.replace("#", "")}`);
  const parts = new URLSearchParams();
  const names: Record<string, string> = { type: "job_type", queue: "queue", tag: "tag", status: "status" };
  for (const word of wanted.split(/\s+/)) {
    const [name = "", value] = word.split(":", 2);
    if (value && names[name]) parts.set(names[name], value);
    else parts.set("job_type", word);
  }
  go(`/jobs?${parts}`);
}

function Search() {
  const box = useRef<HTMLInputElement>(null);
  return (
    <form role="search" onSubmit={(event) => { event.preventDefault(); find(box.current!.value); box.current!.value = ""; box.current!.blur(); }}>
      <input ref={box} id="search" type="search" placeholder="Find jobs (/)" aria-label="Find jobs" />
    </form>
  );
}

function Banner() {
  const paused = useData<QueueStatus>("/api/queue/status").value?.paused ?? [];
  if (!paused.length) return null;
  return <p class="banner" role="status">Paused: {paused.map(pauseName).join("; ")}. <a href="/limits">Pauses</a></p>;
}

function useKeys(show: Show): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        show("palette");
        return;
      }
      const typing = (event.target as Element).closest?.("input, textarea, select, dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search")?.focus();
      else if (event.key === "?") show("keys");
      else if (event.key === "n" && may("submit")) show("submit");
      else if (event.key === "ArrowDown" && document.activeElement === document.body) document.querySelector<HTMLElement>("tbody tr")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function Palette({ close, show }: { close: () => void; show: Show }) {
  const [text, setText] = useState("");
  const entries: [string, () => void][] = [
    ...PLACES.filter((place) => !place.admin || may("admin")).map((place): [string, () => void] => [`Go to ${place.name.toLowerCase()}`, () => go(place.path)]),
    ["Failed jobs", () => go("/jobs?status=failed,timeout,blocked_by_dependency,blocked_by_approval")],
    ["Jobs that wait for approval", () => go("/jobs?status=waiting_on_approval")],
    ["Sign out", signOut],
  ];
  if (may("submit")) entries.push(["Submit a job", () => show("submit")]);
  const found = entries.filter(([name]) => name.toLowerCase().includes(text.toLowerCase()));
  if (text) found.push([`Find “${text}”`, () => find(text)]);
  const run = (entry?: [string, () => void]) => {
    close();
    entry?.[1]();
  };
  return (
    <Dialog title="Go to" onClose={close}>
      <form onSubmit={(event) => { event.preventDefault(); run(/^#?\d+$/.test(text.trim()) ? found.at(-1) : found[0]); }}>
        <input autofocus aria-label="Command or job" placeholder="A page, a job number, a type" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </form>
      <ul class="palette">{found.map((entry) => <li key={entry[0]}><button type="button" class="plain" onClick={() => run(entry)}>{entry[0]}</button></li>)}</ul>
    </Dialog>
  );
}

function Keys({ close }: { close: () => void }) {
  const keys: [string, string][] = [
    ["/", "find jobs"],
    ["Ctrl K", "go to a page or a job"],
    ["n", "submit a job"],
    ["↓ ↑", "move in a list"],
    ["Enter", "open the job"],
    ["Space", "select the job"],
    ["+ − 0 arrows", "zoom and move the graph"],
    ["Esc", "close"],
    ["?", "this help"],
  ];
  return <Dialog title="Keys" onClose={close}><dl>{keys.map(([key, does]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={`${key}:`}>{does}</dd>])}</dl></Dialog>;
}

document.documentElement.dataset.theme = localStorage.getItem("headway-theme") ?? "";
followLinks();
useCode()
  .catch((error: unknown) => {
    firstProblem = error instanceof Error ? error.message : String(error);
  })
  .finally(() => {
    render(<App />, document.body);
    start();
  });
