// Sentences of the server name jobs by their ids: here they become numbers that can be followed.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api";
import type { Job } from "../types";
import { clock } from "../words";

const PARTS = /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d))/g;
const numbers = new Map<string, number | null>();
const pending = new Map<string, Promise<number | null>>();

export function learn(id: string, number: number): void {
  numbers.set(id, number);
}

/** The number of a job that has been seen already. */
export const numberOf = (id: string) => numbers.get(id) ?? undefined;

async function find(id: string): Promise<number | null> {
  try {
    const { number } = await get<Job>(`/api/jobs/${id}`);
    numbers.set(id, number);
  } catch {
    numbers.set(id, null);
  }
  pending.delete(id);
  return numbers.get(id) ?? null;
}

export function JobLink({ id, number }: { id: string; number?: number }) {
  const [known, set] = useState(number ?? numbers.get(id));
  useEffect(() => {
    if (known !== undefined) return;
    let waiting = pending.get(id);
    if (!waiting) pending.set(id, (waiting = find(id)));
    let here = true;
    void waiting.then((found) => here && set(found));
    return () => {
      here = false;
    };
  }, [id]);
  if (known === null) return <code>{id}</code>;
  return known === undefined ? <span>…</span> : <a class="named" href={`/jobs/${known}`}>{known}</a>;
}

/** A sentence with its jobs as links and its moments on the reader's clock. */
export function JobIds({ text }: { text: string }) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(PARTS)) {
    parts.push(text.slice(end, match.index));
    parts.push(match[1] ? <JobLink key={match.index} id={match[1]} /> : clock(match[2]!));
    end = match.index + match[0].length;
  }
  return <bdi>{parts}{text.slice(end)}</bdi>;
}
