// The address bar is the state: pages are paths, filters are the query.

import { useEffect, useState } from "preact/hooks";

const listeners = new Set<() => void>();
const changed = () => {
  for (const listener of [...listeners]) listener();
};
addEventListener("popstate", changed);

export function go(to: string, replaces = false): void {
  if (to === location.pathname + location.search) return;
  history[replaces ? "replaceState" : "pushState"](null, "", to);
  changed();
  if (!replaces) scrollTo(0, 0);
}

export interface Where {
  steps: string[];
  query: URLSearchParams;
}

const here = (): Where => ({
  steps: location.pathname.split("/").filter(Boolean).map(decodeURIComponent),
  query: new URLSearchParams(location.search),
});

export function useWhere(): Where {
  const [where, set] = useState(here);
  useEffect(() => {
    const listener = () => set(here());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return where;
}

/** Changes parts of the query; an empty value removes its part. */
export function setQuery(parts: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(parts)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), true);
}

/** Follows links of this page without loading it again. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || link.target || link.download) return;
    const to = new URL(link.href);
    if (to.origin !== location.origin || /^\/(api|docs|metrics|openapi)/.test(to.pathname)) return;
    event.preventDefault();
    go(to.pathname + to.search);
  });
}
