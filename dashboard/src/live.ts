// One stream tells that something has happened; what is on screen is then read again.

import { isSignedIn, onSignIn, send } from "./api";

const AGAIN_MS = 2000;
const TICK_MS = 500;

export type Connection = "connecting" | "live" | "lost" | "off";

let connection: Connection = "connecting";
let changed = false;
type Listener = (isOwn: boolean) => void;
const ticks = new Set<Listener>();
const watchers = new Set<() => void>();

export const connected = () => connection;

/** Calls a function when something may have changed, at most twice a second; or at once when it was changed here. */
export function onTick(listener: Listener): () => void {
  ticks.add(listener);
  return () => ticks.delete(listener);
}

export function onConnection(listener: () => void): () => void {
  watchers.add(listener);
  return () => watchers.delete(listener);
}

/** Something was changed here: look as soon as what is closed now is gone. */
export const tick = () => void setTimeout(() => tell(true));

function tell(isOwn: boolean): void {
  changed = false;
  for (const listener of [...ticks]) listener(isOwn);
}

function set(state: Connection): void {
  if (state === connection) return;
  const back = state === "live" && connection === "lost";
  connection = state;
  for (const watcher of [...watchers]) watcher();
  if (back) tick();
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function follow(): Promise<void> {
  for (;;) {
    if (!isSignedIn()) {
      set("off");
      await new Promise<void>((done) => {
        const stop = onSignIn(() => {
          stop();
          done();
        });
      });
      continue;
    }
    try {
      const answer = await send(`/api/events?every_ms=${TICK_MS}`, { headers: { accept: "text/event-stream" } });
      set("live");
      const reader = answer.body!.getReader();
      while (!(await reader.read()).done) changed = true;
      set("lost");
    } catch {
      set(isSignedIn() ? "lost" : "off");
    }
    await pause(AGAIN_MS);
  }
}

export function start(): void {
  void follow();
  setInterval(() => {
    if (changed && !document.hidden) tell(false);
  }, TICK_MS);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) tell(false);
  });
}
