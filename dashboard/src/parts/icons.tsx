// Line icons, 16 by 16, in the colour of their text.

const PATHS = {
  overview: "M2 2h5v6H2zM9 2h5v3H9zM9 8h5v6H9zM2 11h5v3H2z",
  jobs: "M2 4h1M2 8h1M2 12h1M6 4h8M6 8h8M6 12h8",
  graph: "M2 8a2 2 0 1 0 4 0 2 2 0 1 0-4 0M10 3.5a2 2 0 1 0 4 0 2 2 0 1 0-4 0M10 12.5a2 2 0 1 0 4 0 2 2 0 1 0-4 0M6 7l4-2.5M6 9l4 2.5",
  timeline: "M2 3h7M5 8h8M2 13h5M10 13h4",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2M8 5v3.3l2.3 1.5",
  groups: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  workers: "M4 4h8v8H4zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5M1.5 6H4M1.5 10H4M12 6h2.5M12 10h2.5",
  limits: "M3 7.5h10V14H3zM5 7.5V5a3 3 0 0 1 6 0v2.5",
  webhooks: "M2 3.5h12v9H2zM2 4l6 5 6-5",
  tokens: "M10 2a4 4 0 0 0-3.8 5.2L2 11.4V14h2.6v-1.7h1.7v-1.7l1.5-1A4 4 0 1 0 10 2M10.8 5.2h.01",
  audit: "M4 1.5h6l3 3v10H4zM6.5 7h4M6.5 10h4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d={PATHS[name]} /></svg>;
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M6 7l5 5-5 5M12.5 7l5 5-5 5" />
    </svg>
  );
}
