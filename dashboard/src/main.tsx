// The frame around the pages: signing in, navigation, what is paused, keys.

import { render } from "preact";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { isSignedIn, onSignIn, Problem, signedOutBecause, signIn, signOut, useCode } from "./api";
import { QUEUE_STATUS_MS, useData } from "./data";
import { connected, onConnection, start, type Connection } from "./live";
import { GraphPage } from "./pages/graph";
import { JobPage } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Groups } from "./pages/groups";
import { Limits } from "./pages/limits";
import { Overview } from "./pages/overview";
import { Schedules } from "./pages/schedules";
import { Submit } from "./pages/submit";
import { Timeline } from "./pages/timeline";
import { Audit, Tokens } from "./pages/tokens";
import { Webhooks } from "./pages/webhooks";
import { Workers } from "./pages/workers";
import { Icon, Logo, type IconName } from "./parts/icons";
import { pauseEverything, pauseName, resume } from "./parts/pauses";
import { Button, Dialog, Empty, may, Messages, say, setRole } from "./parts/ui";
import { followLinks, go, useWhere } from "./router";
import type { Me, QueueStatus } from "./types";
import { FAILED, setServerTime } from "./words";

interface Place {
  path: string;
  name: string;
  icon: IconName;
  admin?: boolean;
}

const PLACES: [heading: string, places: Place[]][] = [
  ["Jobs", [
    { path: "/", name: "Overview", icon: "overview" },
    { path: "/jobs", name: "Jobs", icon: "jobs" },
    { path: "/graph", name: "Graph", icon: "graph" },
    { path: "/timeline", name: "Timeline", icon: "timeline" },
  ]],
  ["What governs them", [
    { path: "/schedules", name: "Schedules", icon: "schedules" },
    { path: "/groups", name: "Groups", icon: "groups" },
    { path: "/workers", name: "Workers", icon: "workers" },
    { path: "/limits", name: "Limits and locks", icon: "limits" },
  ]],
  ["Administration", [
    { path: "/webhooks", name: "Webhooks", icon: "webhooks", admin: true },
    { path: "/tokens", name: "Tokens", icon: "tokens", admin: true },
    { path: "/audit", name: "Audit log", icon: "audit", admin: true },
  ]],
];
const places = () => PLACES.flatMap(([, some]) => some).filter((place) => !place.admin || may("admin"));

function App() {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => onSignIn(() => redraw(undefined)), []);
  return isSignedIn() ? <SignedIn /> : <Door />;
}

let firstProblem = "";

function Door() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(firstProblem || signedOutBecause());
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
      <h1><Logo /> Headway</h1>
      <p>Open the link that <code>headway dashboard</code> prints (it works once), or sign in with a token.</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <form onSubmit={submit}>
        <label>Token<input type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
        <button class="main">Sign in</button>
      </form>
    </main>
  );
}

const ME_MS = 30_000;

function SignedIn() {
  const me = useData<Me>("/api/me", ME_MS);
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
    const name = places().find((place) => place.path === `/${page}`)?.name ?? "Headway";
    document.title = id ? `${name.replace(/s$/, "")} ${id} – Headway` : `${name} – Headway`;
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
  const [isOpen, open] = useState(false);
  useEffect(() => open(false), [steps.join("/")]);
  const shown = new Set(places());
  return (
    <nav class={isOpen ? "side open" : "side"} aria-label="Pages">
      <div class="brand">
        <a href="/"><Logo /> Headway</a>
        <Live />
        <button type="button" class="menu" aria-expanded={isOpen} onClick={() => open(!isOpen)}>Menu</button>
      </div>
      <Search />
      <div class="places">
        {PLACES.filter(([, some]) => some.some((place) => shown.has(place))).map(([heading, some]) => (
          <section key={heading} aria-label={heading}>
            <ul>
              {some.map((place) => (
                <li key={place.path}><a href={place.path} aria-current={`/${steps[0] ?? ""}` === place.path ? "page" : undefined}><Icon name={place.icon} />{place.name}</a></li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      <div class="foot">
        {may("submit") && <button type="button" class="main" onClick={() => show("submit")}>Submit…</button>}
        <p class="soft">Signed in as <bdi>{me.name}</bdi>, {me.role}</p>
        <p><button type="button" class="plain" onClick={() => show("palette")}>Go to <kbd>Ctrl K</kbd></button> <button type="button" class="plain" onClick={() => show("keys")}>Keys</button> <Theme /> <button type="button" class="plain" onClick={signOut}>Sign out</button></p>
      </div>
    </nav>
  );
}

function useConnection(): Connection {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => onConnection(() => redraw(undefined)), []);
  return connected();
}

function Live() {
  const state = useConnection();
  const words = { live: "live", lost: "lost", connecting: "connecting", off: "" }[state];
  return <span role="status" class={`live ${state}`}>{words}</span>;
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
  const state = useConnection();
  const paused = useData<QueueStatus>("/api/queue/status", QUEUE_STATUS_MS).value?.paused ?? [];
  return (
    <>
      {state === "lost" && <p class="problem" role="alert">The server does not respond. What you see may be old; this page tries again by itself.</p>}
      {paused.length > 0 && (
        <div class="banner" role="status">
          <strong>Paused:</strong> {paused.map(pauseName).join("; ")}. Nothing new starts there.
          <span class="grow" />
          {paused.map((one) => <Button key={pauseName(one)} needs="admin" onClick={() => resume(one)}>{paused.length > 1 ? `Resume ${pauseName(one)}` : "Resume"}</Button>)}
        </div>
      )}
    </>
  );
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
      else if (["ArrowDown", "j"].includes(event.key) && document.activeElement === document.body) document.querySelector<HTMLElement>("tbody tr")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

type Entry = [name: string, run: () => unknown];

function entries(show: Show): Entry[] {
  const known: Entry[] = [
    ...places().map((place): Entry => [`Go to ${place.name.toLowerCase()}`, () => go(place.path)]),
    ["Failed jobs", () => go(`/jobs?status=${FAILED}`)],
    ["Jobs that wait for approval", () => go("/jobs?status=waiting_on_approval")],
    ["Queue order", () => go("/jobs?order=queue")],
  ];
  if (may("submit")) known.push(["Submit a job", () => show("submit")]);
  if (may("admin")) known.push(["Pause everything", pauseEverything], ["Resume everything", () => resume({ queue: null, job_type: null })]);
  known.push(["Show the keys", () => show("keys")], ["Sign out", signOut]);
  return known;
}

function Palette({ close, show }: { close: () => void; show: Show }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState(0);
  const found = entries(show).filter(([name]) => name.toLowerCase().includes(text.toLowerCase()));
  const finds: Entry = [/^#?\d+$/.test(text.trim()) ? `Open job ${text.trim().replace("#", "")}` : `Find “${text}”`, () => find(text)];
  if (text) found.splice(/^#?\d+$/.test(text.trim()) ? 0 : found.length, 0, finds);
  const at = Math.min(chosen, found.length - 1);
  const run = async (entry?: Entry) => {
    close();
    try {
      await entry?.[1]();
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), "bad");
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") choose(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") choose(Math.max(at - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={close}>
      <form onSubmit={(event) => { event.preventDefault(); void run(found[at]); }}>
        <input
          autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="palette"
          aria-activedescendant={`palette-${at}`}
          aria-label="Command or job"
          placeholder="A page, a job number, a type"
          value={text}
          onInput={(event) => { setText(event.currentTarget.value); choose(0); }}
          onKeyDown={press}
        />
      </form>
      <ul id="palette" class="palette" role="listbox" aria-label="What can be done">
        {found.map((entry, index) => (
          <li key={entry[0]} id={`palette-${index}`} role="option" aria-selected={index === at} onClick={() => void run(entry)}>{entry[0]}</li>
        ))}
      </ul>
    </Dialog>
  );
}

function Keys({ close }: { close: () => void }) {
  const keys: [string, string][] = [
    ["/", "find jobs"],
    ["Ctrl K", "go to a page or a job"],
    ["n", "submit a job"],
    ["↓ ↑ j k", "move in a list"],
    ["Enter", "open the job, or do what is chosen"],
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
