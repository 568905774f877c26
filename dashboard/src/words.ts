// How values are written for people.

import type { Job } from "./types";

const GOOD = new Set(["SUCCEEDED", "SKIPPED"]);
const BAD = new Set(["FAILED", "TIMEOUT", "BLOCKED_BY_DEPENDENCY", "BLOCKED_BY_APPROVAL"]);

const words = (statuses: Iterable<string>) => [...statuses].join().toLowerCase();
/** As the filter of the list of jobs takes them. */
export const FAILED = words(BAD);
export const ENDED = words([...GOOD, ...BAD, "CANCELLED"]);

const GROUP_TONES: Record<string, Tone> = { COMPLETED: "good", PARTIAL: "bad" };

export const isGood = (status: string) => GOOD.has(status.toUpperCase());
export const isBad = (status: string) => BAD.has(status.toUpperCase());
export const hasEnded = (status: string) => isGood(status) || isBad(status) || status.toUpperCase() === "CANCELLED";

export type Tone = "good" | "bad" | "busy" | "wait" | "calm";

export function tone(status: string): Tone {
  const word = status.toUpperCase();
  if (GROUP_TONES[word]) return GROUP_TONES[word];
  if (isGood(word)) return "good";
  if (isBad(word)) return "bad";
  if (word === "RUNNING") return "busy";
  return hasEnded(word) ? "calm" : "wait";
}

export const lower = (word: string) => word.toLowerCase().replaceAll("_", " ");

export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 1) return `${Math.round(Math.max(0, ms))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** A span for an axis or a narrow column. */
export function quick(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${+(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${+(ms / 60_000).toFixed(1)} min`;
  return `${+(ms / 3_600_000).toFixed(1)} h`;
}

let offsetMs = 0;

/** The server's clock counts: this machine's may be an hour off. */
export function setServerTime(now: string): void {
  offsetMs = new Date(now).getTime() - Date.now();
}

export const serverNow = () => Date.now() + offsetMs;
export const ago = (moment: string) => `${short(serverNow() - Date.parse(moment))} ago`;
export const until = (moment: string) => {
  const left = Date.parse(moment) - serverNow();
  return left < 0 ? "due" : `in ${short(left)}`;
};

function short(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export const clock = (moment: string) =>
  new Date(moment).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });

export function took(job: { started_at: string | null; finished_at: string | null }): string {
  if (!job.started_at) return "";
  return span((job.finished_at ? Date.parse(job.finished_at) : serverNow()) - Date.parse(job.started_at));
}

export const count = (number: number) => number.toLocaleString();

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with what would turn or hide its neighbours written out: control characters and changes of direction. */
export const visible = (text: string) => text.replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** What a job does, on one line. */
export function work(job: Pick<Job, "job_type" | "params">): { name: string; rest: string } {
  const { argv } = job.params;
  if (job.job_type === "command" && Array.isArray(argv)) return { name: visible(argv.join(" ")), rest: "" };
  const rest = Object.entries(job.params).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return { name: visible(job.job_type), rest: visible(rest.join(" ")) };
}

export const firstLine = (text: string) => {
  const lines = text.trim().split("\n");
  const said = lines.findLast((line) => /^\S*(Error|Exception|Warning|Exit|Interrupt)\b/.test(line));
  return visible(said ?? lines.at(-1) ?? "");
};
