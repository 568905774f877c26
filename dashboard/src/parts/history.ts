// What ended and how long it waited, in the last minutes. The newest jobs say what happened before
// the page was opened; from then on the totals are counted, which misses nothing however fast it goes.

import type { Job, Page, SchedulerStatus } from "../types";
import { isGood, serverNow } from "../words";

const BIN_MS = 10_000;
const BINS = 180;
const SHOWN = 60;
const MIDDLE = 0.5;
const SLOW = 0.95;

interface Bin {
  good: number;
  bad: number;
  waits: Map<number, number>;
}

const bins = new Map<number, Bin>();
let knownFrom = Infinity;
let counted: { at: number; good: number; bad: number } | undefined;
let isSeeded = false;

function bin(at: number): Bin {
  const index = Math.floor(at / BIN_MS);
  let found = bins.get(index);
  if (!found) bins.set(index, (found = { good: 0, bad: 0, waits: new Map() }));
  return found;
}

/** Adds what has ended since the last time, spread over the time that has passed. */
export function noteTotals({ totals }: SchedulerStatus): void {
  const now = { at: serverNow(), good: (totals.succeeded ?? 0) + (totals.skipped ?? 0), bad: (totals.failed ?? 0) + (totals.timeout ?? 0) };
  if (counted && now.at > counted.at) {
    const pieces = Math.min(BINS, Math.max(1, Math.floor(now.at / BIN_MS) - Math.floor(counted.at / BIN_MS)));
    for (let piece = 0; piece < pieces; piece++) {
      const into = bin(now.at - piece * BIN_MS);
      into.good += Math.max(0, now.good - counted.good) / pieces;
      into.bad += Math.max(0, now.bad - counted.bad) / pieces;
    }
  }
  counted = now;
  const oldest = Math.floor(now.at / BIN_MS) - BINS;
  for (const index of bins.keys()) if (index < oldest) bins.delete(index);
}

/** Adds the newest jobs that have ended. */
export function noteJobs(page: Page<Job>): void {
  for (const job of page.items) {
    if (job.started_at) bin(Date.parse(job.started_at)).waits.set(job.number, Date.parse(job.started_at) - Date.parse(job.created_at));
  }
  if (isSeeded || !counted) return;
  isSeeded = true;
  knownFrom = page.next_cursor ? Math.min(...page.items.map((job) => Date.parse(job.created_at))) : 0;
  for (const job of page.items) {
    const at = Date.parse(job.finished_at ?? "");
    if (!(at < counted.at)) continue;
    if (isGood(job.status)) bin(at).good++;
    else bin(at).bad++;
  }
}

export interface History {
  minutes: number;
  at: number[];
  ended: (number | null)[];
  failed: (number | null)[];
  middle: (number | null)[];
  slow: (number | null)[];
}

/** The last half hour, or the last ten minutes when nothing is older; null where it is not known. */
export function recent(): History {
  const last = Math.floor(serverNow() / BIN_MS);
  const oldest = Math.min(...bins.keys());
  const wide = oldest <= last - SHOWN ? BINS / SHOWN : 1;
  const pieces = Array.from({ length: SHOWN }, (_, place) => last - (SHOWN - place) * wide + 1);
  const inside = (first: number) => Array.from({ length: wide }, (_, place) => bins.get(first + place)).filter((one) => one !== undefined);
  const known = (first: number) => (first + wide) * BIN_MS > knownFrom;
  const sum = (first: number, count: (one: Bin) => number) => (known(first) ? inside(first).reduce((all, one) => all + count(one), 0) : null);
  const waits = pieces.map((first) => inside(first).flatMap((one) => [...one.waits.values()]).sort((one, other) => one - other));
  const quantile = (part: number) => waits.map((sorted) => (sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]! / 1000 : null));
  return {
    minutes: (SHOWN * wide * BIN_MS) / 60_000,
    at: pieces.map((first) => (first * BIN_MS) / 1000),
    ended: pieces.map((first) => sum(first, (one) => one.good + one.bad)),
    failed: pieces.map((first) => sum(first, (one) => one.bad)),
    middle: quantile(MIDDLE),
    slow: quantile(SLOW),
  };
}
