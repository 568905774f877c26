// Requests to the server: the token, the errors, and nothing about what is asked.

const KEY = "headway-token";

/** An error as the server explains it. */
export class Problem extends Error {
  constructor(readonly status: number, readonly code: string, detail: string) {
    super(detail);
  }
}

let token = localStorage.getItem(KEY);
let farewell = "";
const listeners = new Set<() => void>();

/** Whether there is a token; it may be refused all the same. */
export const isSignedIn = () => token !== null;

/** Calls a function whenever someone signs in or out, here or in another tab. */
export function onSignIn(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function use(given: string | null, because = ""): void {
  token = given;
  farewell = because;
  if (given === null) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, given);
  for (const listener of listeners) listener();
}

addEventListener("storage", (event) => {
  if (event.key === KEY) {
    token = event.newValue;
    for (const listener of listeners) listener();
  }
});

export const signOut = () => use(null);

/** Why someone was signed out who did not ask for it. */
export const signedOutBecause = () => farewell;

/** Signs in with a token if the server knows it. */
export async function signIn(given: string): Promise<void> {
  const answer = await fetch("/api/me", { headers: { authorization: `Bearer ${given}` } });
  if (!answer.ok) throw await problem(answer);
  use(given);
}

/** Exchanges the one-time code of a link for a token. */
export async function useCode(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  const answer = await fetch("/dashboard/session", { method: "POST", body: JSON.stringify({ code }) });
  if (!answer.ok) throw await problem(answer);
  use(((await answer.json()) as { token: string }).token);
}

async function problem(answer: Response): Promise<Problem> {
  try {
    const body = (await answer.json()) as { code?: string; detail?: string };
    return new Problem(answer.status, body.code ?? "", body.detail ?? answer.statusText);
  } catch {
    return new Problem(answer.status, "", `${answer.status} ${answer.statusText}`);
  }
}

/** Sends a request; an error status is a Problem, a refused token signs out. */
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const used = token;
  const headers = { ...options.headers, authorization: `Bearer ${used ?? ""}` };
  let answer: Response;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The server does not respond.");
  }
  if (answer.status === 401 && used !== null && used === token) {
    use(null, "You were signed out: your token was revoked or has ended.");
  }
  if (!answer.ok) throw await problem(answer);
  return answer;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}

/** Changes something; returns what the server says of it. */
export async function change<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await send(path, {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

/** A path with its query; empty values are left out. */
export function query(path: string, params: Record<string, string | number | boolean | null | undefined>): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") found.set(name, String(value));
  }
  const text = found.toString();
  return text ? `${path}?${text}` : path;
}
