// Small parts that every page uses.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api";
import type { Job, Role } from "../types";
import { ago, clock, lower, tone, until, visible, work } from "../words";

export function Status({ status, note }: { status: string; note?: string }) {
  return <span class={`status ${tone(status)}`} title={note}>{lower(status)}</span>;
}

export function Ago({ at }: { at: string | null }) {
  useSecond();
  return at ? <time dateTime={at} title={clock(at)}>{ago(at)}</time> : null;
}

export function Until({ at }: { at: string | null }) {
  useSecond();
  return at ? <time dateTime={at} title={clock(at)}>{until(at)}</time> : null;
}

/** Draws again every second, for spans of time. */
export function useSecond(): void {
  const [, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) set((count) => count + 1);
    }, 1000);
    return () => clearInterval(timer);
  }, []);
}

export function Work({ job }: { job: Pick<Job, "job_type" | "params"> }) {
  const { name, rest } = work(job);
  return (
    <span class="work" title={`${name} ${rest}`.trim()}>
      <bdi>{name}</bdi> <bdi class="soft">{rest}</bdi>
    </span>
  );
}

export function Bar({ value, label }: { value: number | null; label: string }) {
  return <progress value={value ?? undefined} max={1} aria-label={label} />;
}

/** How much of the most there is. */
export function Meter({ value, most, label }: { value: number; most: number; label: string }) {
  const share = Math.min(1, value / Math.max(1, most));
  return <span class="meter" role="img" aria-label={label}><i style={{ width: `${share * 100}%` }} /></span>;
}

/** What went wrong; that the server is lost, the banner says already. */
export function Failure({ problem }: { problem?: Problem }) {
  return problem && problem.code !== "unreachable" ? <p class="problem" role="alert">{problem.message}</p> : null;
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Card(props: { title: string; more?: ComponentChildren; children: ComponentChildren; wide?: boolean }) {
  return (
    <section class={props.wide ? "card wide" : "card"}>
      <header>
        <h2>{props.title}</h2>
        {props.more}
      </header>
      {props.children}
    </section>
  );
}

const RANK: Record<Role, number> = { read: 0, work: 0, submit: 1, admin: 2 };
let role: Role = "read";
export const setRole = (given: Role) => {
  role = given;
};
/** Whether whoever is signed in may do what this role may. */
export const may = (needed: "submit" | "admin") => RANK[role] >= RANK[needed];

export function Button(props: {
  onClick: () => unknown;
  children: ComponentChildren;
  needs?: "submit" | "admin";
  kind?: "main" | "danger" | "plain";
  disabled?: boolean;
  label?: string;
  pressed?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  if (props.needs && !may(props.needs)) return null;
  const click = async () => {
    setBusy(true);
    try {
      await props.onClick();
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), "bad");
    }
    setBusy(false);
  };
  return (
    <button
      type="button"
      class={props.kind ?? ""}
      disabled={busy || props.disabled}
      aria-label={props.label}
      aria-pressed={props.pressed}
      onClick={click}
    >
      {props.children}
    </button>
  );
}

// ---- messages that stay until they are read

interface Message {
  id: number;
  text: string;
  tone: "good" | "bad";
}
let messages: Message[] = [];
let lastMessage = 0;
const readers = new Set<() => void>();

export function say(text: string, kind: "good" | "bad" = "good"): void {
  const id = ++lastMessage;
  messages = [...messages.slice(-4), { id, text, tone: kind }];
  for (const reader of readers) reader();
  if (kind === "good") setTimeout(() => dismiss(id), 5000);
}

function dismiss(id: number): void {
  messages = messages.filter((one) => one.id !== id);
  for (const reader of readers) reader();
}

export function Messages() {
  const [, set] = useState(0);
  useEffect(() => {
    const reader = () => set((count) => count + 1);
    readers.add(reader);
    return () => {
      readers.delete(reader);
    };
  }, []);
  return (
    <div class="messages" role="status" aria-live="polite">
      {messages.map((one) => (
        <p key={one.id} class={one.tone}>
          {one.text}
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(one.id)}>✕</button>
        </p>
      ))}
    </div>
  );
}

// ---- dialogs

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current!;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("input, select, textarea, footer button")?.focus();
    return () => dialog.close();
  }, []);
  return (
    <dialog ref={box} aria-label={props.title} onClose={props.onClose} onClick={(event) => event.target === box.current && props.onClose()}>
      <header>
        <h2>{props.title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={props.onClose}>✕</button>
      </header>
      {props.children}
    </dialog>
  );
}

/** Loads more when it comes into sight. */
export function More({ load, busy }: { load?: () => void; busy: boolean }) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!load || !end.current) return;
    const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && load(), { rootMargin: "400px" });
    watcher.observe(end.current);
    return () => watcher.disconnect();
  });
  if (!load) return null;
  return <div ref={end} class="empty">{busy ? "Loading…" : <button type="button" onClick={load}>Show more</button>}</div>;
}

export function Json({ value }: { value: unknown }) {
  return <pre class="json">{visible(JSON.stringify(value, null, 2))}</pre>;
}

export function copy(text: string): void {
  void navigator.clipboard.writeText(text).then(
    () => say("Copied."),
    () => say("The browser does not allow copying here.", "bad"),
  );
}
