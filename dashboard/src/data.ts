// What the server says about a path, read again whenever something may have changed.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { get, onSignIn, Problem } from "./api";
import { onTick } from "./live";
import type { Page } from "./types";

export interface Data<T> {
  value?: T;
  problem?: Problem;
  reload: () => void;
}

/** Counting what waits is the dearest question of all, and every page asks it for its banner. */
export const QUEUE_STATUS_MS = 1000;

const known = new Map<string, unknown>();
const MOST_KNOWN = 200;
onSignIn(() => known.clear()); // what one person may see, the next one may not

function remember(path: string, value: unknown): void {
  known.delete(path);
  known.set(path, value);
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!);
}

const asked = new Map<string, Promise<unknown>>();

/** Reads a path; those who ask for the same at the same time share one request, unless it must be new. */
function fresh<T>(path: string, isNew: boolean): Promise<T> {
  let answer = isNew ? undefined : asked.get(path);
  if (!answer) {
    const mine = get<T>(path).finally(() => asked.get(path) === mine && asked.delete(path));
    asked.set(path, (answer = mine));
  }
  return answer as Promise<T>;
}

const asProblem = (error: unknown) => (error instanceof Problem ? error : new Problem(0, "", String(error)));

/** The value behind a path, read again when something happens, but not within `everyMs`; `null` asks for nothing. */
export function useData<T>(path: string | null, everyMs = 0): Data<T> {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const problem = useRef<Problem>();
  const reload = useRef(() => {});
  useEffect(() => {
    problem.current = undefined;
    if (path === null) return;
    let isHere = true;
    let busy = false;
    let again = false;
    let lastRead = 0;
    let later: ReturnType<typeof setTimeout> | undefined;
    const read = async (isNew: boolean): Promise<void> => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      lastRead = Date.now();
      try {
        remember(path, await fresh<T>(path, isNew));
        problem.current = undefined;
      } catch (error) {
        problem.current = asProblem(error);
      }
      busy = false;
      if (!isHere) return;
      redraw(undefined);
      if (again) {
        again = false;
        void read(true);
      }
    };
    reload.current = () => void read(true);
    void read(false);
    const off = onTick((isOwn) => {
      const early = lastRead + everyMs - Date.now();
      if (isOwn || early <= 0) return void read(isOwn);
      later ??= setTimeout(() => {
        later = undefined;
        void read(false);
      }, early);
    });
    return () => {
      isHere = false;
      off();
      clearTimeout(later);
    };
  }, [path]);
  return {
    value: path === null ? undefined : (known.get(path) as T | undefined),
    problem: problem.current,
    reload: () => reload.current(),
  };
}

export interface List<T> extends Data<T[]> {
  more?: () => void;
  isLoading: boolean;
}

const MOST_LIVE_PAGES = 4;

/** A list of pages that grows; its first pages are kept up to date. */
export function useList<T>(path: string, key: (item: T) => string | number): List<T> {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const state = useRef({ path: "", pages: [] as Page<T>[], problem: undefined as Problem | undefined, busy: false });
  if (state.current.path !== path) {
    const first = known.get(path) as Page<T> | undefined;
    state.current = { path, pages: first ? [first] : [], problem: undefined, busy: false };
  }
  const at = (cursor: string | null | undefined) =>
    cursor ? `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}` : path;

  const read = async (until: number): Promise<void> => {
    const mine = state.current;
    if (mine.busy) return;
    mine.busy = true;
    try {
      const fresh: Page<T>[] = [];
      let cursor: string | null | undefined = null;
      for (let page = 0; page < until; page++) {
        const found: Page<T> = await get<Page<T>>(at(cursor));
        fresh.push(found);
        cursor = found.next_cursor;
        if (!cursor) break;
      }
      if (fresh[0]) remember(path, fresh[0]);
      mine.pages = [...fresh, ...(fresh.at(-1)?.next_cursor ? mine.pages.slice(fresh.length) : [])];
      mine.problem = undefined;
    } catch (error) {
      mine.problem = asProblem(error);
    }
    mine.busy = false;
    redraw(undefined);
  };

  const grow = async (): Promise<void> => {
    const mine = state.current;
    const cursor = mine.pages.at(-1)?.next_cursor;
    if (mine.busy || !cursor) return;
    mine.busy = true;
    redraw(undefined);
    try {
      const found = await get<Page<T>>(at(cursor));
      mine.pages = [...mine.pages, found];
    } catch (error) {
      mine.problem = asProblem(error);
    }
    mine.busy = false;
    redraw(undefined);
  };

  const reload = () => void read(Math.max(1, Math.min(state.current.pages.length, MOST_LIVE_PAGES)));
  useEffect(() => {
    reload();
    return onTick(reload);
  }, [path]);

  const seen = new Map<string | number, T>();
  for (const page of state.current.pages) for (const item of page.items) if (!seen.has(key(item))) seen.set(key(item), item);
  return {
    value: state.current.pages.length ? [...seen.values()] : undefined,
    problem: state.current.problem,
    isLoading: state.current.busy,
    more: state.current.pages.at(-1)?.next_cursor ? () => void grow() : undefined,
    reload,
  };
}
