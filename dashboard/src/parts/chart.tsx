// Values over time, drawn by uPlot in the colours of the page.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Tone } from "../words";

export interface Series {
  name: string;
  tone: Tone;
  values: (number | null)[];
}

interface Props {
  at: number[];
  series: Series[];
  kind: "bars" | "lines";
  label: string;
  unit: (value: number) => string;
}

const HEIGHT = 130;
const BAR = 0.82;
const WIDEST_BAR = 14;

export function Chart({ at, series, kind, label, unit }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const theme = useTheme();
  const data: uPlot.AlignedData = [at, ...series.map((one) => one.values)];
  useEffect(() => {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name: string) => colours.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui", gap: 4 };
    const bars = kind === "bars" ? { paths: uPlot.paths.bars!({ size: [BAR, WIDEST_BAR] }), points: { show: false } } : { spanGaps: true, points: { size: 4 } };
    plot.current = new uPlot(
      {
        width: box.current!.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        axes: [{ ...axis, size: 22, values: (_, ticks) => ticks.map(minute) }, { ...axis, size: 46, values: (_, ticks) => ticks.map(unit) }],
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
        series: [{}, ...series.map((one) => ({ label: one.name, stroke: colour(one.tone), width: 1.5, ...bars, ...(kind === "bars" && { fill: colour(one.tone), width: 0 }) }))],
      },
      data,
      box.current!,
    );
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: box.current!.clientWidth, height: HEIGHT }));
    watcher.observe(box.current!);
    return () => {
      watcher.disconnect();
      plot.current?.destroy();
    };
  }, [series.length, theme]);
  useEffect(() => plot.current?.setData(data));
  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={label} />
      <figcaption>{series.map((one) => <span key={one.name}><i class={`key ${one.tone}`} aria-hidden="true" />{one.name}</span>)}</figcaption>
    </figure>
  );
}

const minute = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });

/** Changes whenever the colours of the page do. */
function useTheme(): number {
  const [theme, set] = useState(0);
  useEffect(() => {
    const changed = () => set((count) => count + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const watcher = new MutationObserver(changed);
    watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    dark.addEventListener("change", changed);
    return () => {
      watcher.disconnect();
      dark.removeEventListener("change", changed);
    };
  }, []);
  return theme;
}
