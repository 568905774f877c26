// What is paused, in words, and changing it.

import { change } from "../api";
import { tick } from "../live";
import type { Paused } from "../types";

type What = Pick<Paused, "queue" | "job_type">;

export const pauseName = (one: What) =>
  [one.queue && `queue ${one.queue}`, one.job_type && `type ${one.job_type}`].filter(Boolean).join(", ") || "everything";

export async function pause(what: Partial<What>): Promise<void> {
  await change("POST", "/api/queue/pause", what);
  tick();
}

export const pauseEverything = () => pause({});

export async function resume({ queue, job_type }: What): Promise<void> {
  await change("POST", "/api/queue/resume", { queue, job_type });
  tick();
}
