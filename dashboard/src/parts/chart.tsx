// Lines over time, drawn by uPlot in the colours of the page.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Tone } from "../words";

export interface Series {
  name: string;
  tone: Tone;
  values: number[];
}

const HEIGHT = 170;

export function Chart({ at, series }: { at: number[]; series: Series[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const data: uPlot.AlignedData = [at, ...series.map((one) => one.values)];
  useEffect(() => {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name: string) => colours.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
    plot.current = new uPlot(
      {
        width: box.current!.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        axes: [axis, { ...axis, size: 50 }],
        scales: { y: { range: (_, __, most) => [0, Math.max(1, most)] } },
        series: [{}, ...series.map((one) => ({ label: one.name, stroke: colour(one.tone), width: 2 }))],
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
  }, [series.length]);
  useEffect(() => plot.current?.setData(data));
  const last = series.map((one) => `${one.name} ${one.values.at(-1)?.toFixed(1)}`).join(", ");
  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={`Now ${last} a second`} />
      <figcaption>{series.map((one) => <span key={one.name} class={one.tone}>● {one.name} {one.values.at(-1)?.toFixed(1)}</span>)}</figcaption>
    </figure>
  );
}
