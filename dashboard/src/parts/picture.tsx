// A graph of jobs in layers, to be moved and zoomed.

import dagre from "@dagrejs/dagre";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go } from "../router";
import type { Graph } from "../types";
import { count, lower, tone, type Tone } from "../words";

const WIDTH = 190;
const HEIGHT = 46;
const MANY = 300;
const TONE_WORDS: Record<Tone, string> = { good: "succeeded", bad: "failed", busy: "running", wait: "waiting", calm: "cancelled" };

interface Placed {
  nodes: (Graph["nodes"][number] & { x: number; y: number })[];
  edges: { key: string; points: string; label?: string; critical: boolean }[];
  width: number;
  height: number;
}

export function Picture({ graph, chosen, isSmall = false }: { graph: Graph; chosen?: string; isSmall?: boolean }) {
  const shape = graph.nodes.map((node) => node.id).join() + graph.edges.map((edge) => edge.from + edge.to).join();
  const places = useMemo(() => placed(graph), [shape]);
  const status = new Map(graph.nodes.map((node) => [node.id, node]));
  const box = useRef<SVGSVGElement>(null);
  const [view, setView] = useState({ x: 0, y: 0, scale: 1 });
  const fit = () => {
    const { width, height } = box.current!.getBoundingClientRect();
    const scale = Math.min(1, width / (places.width + 40), height / (places.height + 40));
    const node = chosen && scale < 0.4 ? places.nodes.find((one) => one.id === chosen) : undefined;
    if (node) setView({ scale: 0.8, x: width / 2 - node.x * 0.8, y: height / 2 - node.y * 0.8 });
    else setView({ scale, x: (width - places.width * scale) / 2, y: (height - places.height * scale) / 2 });
  };
  useEffect(fit, [places]);
  const zoom = (factor: number, at?: { x: number; y: number }) =>
    setView((now) => {
      const scale = Math.min(3, Math.max(0.05, now.scale * factor));
      const frame = box.current!.getBoundingClientRect();
      const middle = at ?? { x: frame.width / 2, y: frame.height / 2 };
      const ratio = scale / now.scale;
      return { scale, x: middle.x - (middle.x - now.x) * ratio, y: middle.y - (middle.y - now.y) * ratio };
    });
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const frame = box.current!.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, { x: event.clientX - frame.x, y: event.clientY - frame.y });
  };
  useEffect(() => {
    if (isSmall) return;
    const at = box.current!;
    at.addEventListener("wheel", wheel, { passive: false });
    return () => at.removeEventListener("wheel", wheel);
  }, []);
  const grab = (event: PointerEvent) => {
    if (isSmall || (event.target as Element).closest("a")) return;
    const from = { x: event.clientX - view.x, y: event.clientY - view.y };
    const at = box.current!;
    at.setPointerCapture(event.pointerId);
    at.onpointermove = (moved) => setView((now) => ({ ...now, x: moved.clientX - from.x, y: moved.clientY - from.y }));
    at.onpointerup = () => {
      at.onpointermove = null;
    };
  };
  const press = (event: KeyboardEvent) => {
    const step: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    const by = step[event.key];
    if (by) setView((now) => ({ ...now, x: now.x + by[0], y: now.y + by[1] }));
    else if (event.key === "+") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };
  return (
    <div class={isSmall ? "picture small" : "picture"}>
      {!isSmall && (
        <div class="row">
          <Legend graph={graph} />
          <span class="grow" />
          <button type="button" aria-label="Zoom out" onClick={() => zoom(0.8)}>−</button>
          <button type="button" aria-label="Zoom in" onClick={() => zoom(1.25)}>+</button>
          <button type="button" onClick={fit}>Fit</button>
        </div>
      )}
      <svg ref={box} role="group" aria-label="Jobs and what they depend on" tabIndex={0} onPointerDown={grab} onKeyDown={press}>
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" /></marker>
        </defs>
        <g transform={`translate(${view.x},${view.y}) scale(${view.scale})`}>
          {places.edges.map((edge) => <polyline key={edge.key} class={edge.critical ? "edge critical" : "edge"} points={edge.points} marker-end="url(#tip)"><title>{edge.label}</title></polyline>)}
          {places.nodes.map((one) => {
            const node = status.get(one.id) ?? one;
            return (
              <a key={one.id} href={`/jobs/${one.number}`} onClick={(event) => { event.preventDefault(); go(`/jobs/${one.number}`); }}>
                <g class={`node ${tone(node.status)}${one.id === chosen ? " chosen" : ""}`} transform={`translate(${one.x - WIDTH / 2},${one.y - HEIGHT / 2})`}>
                  <title>{`${one.number} ${node.command}: ${node.wait ?? lower(node.status)}`}</title>
                  <rect width={WIDTH} height={HEIGHT} rx="7" />
                  <text x="10" y="19">{one.number} {lower(node.status)}</text>
                  <text x="10" y="36" class="soft">{cut(node.command)}</text>
                </g>
              </a>
            );
          })}
        </g>
      </svg>
    </div>
  );
}

function Legend({ graph }: { graph: Graph }) {
  const tones = new Map<Tone, number>();
  for (const node of graph.nodes) tones.set(tone(node.status), (tones.get(tone(node.status)) ?? 0) + 1);
  return (
    <span class="legend">
      {[...tones].map(([one, number]) => <span key={one}><i class={`key ${one}`} aria-hidden="true" />{count(number)} {TONE_WORDS[one]}</span>)}
      <span><i class="key way" aria-hidden="true" />the longest way that is still open</span>
    </span>
  );
}

const cut = (text: string) => (text.length > 26 ? `${text.slice(0, 25)}…` : text);

/** Layers from left to right: a dependency stands left of what waits for it. */
function placed(graph: Graph): Placed {
  const layout = new dagre.graphlib.Graph({ multigraph: true });
  const many = graph.nodes.length > MANY;
  layout.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 50, marginx: 10, marginy: 10, ranker: many ? "longest-path" : "network-simplex" });
  layout.setDefaultEdgeLabel(() => ({}));
  const known = new Set(graph.nodes.map((node) => node.id));
  for (const node of graph.nodes) layout.setNode(node.id, { width: WIDTH, height: HEIGHT });
  const edges = graph.edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
  for (const [index, edge] of edges.entries()) layout.setEdge(edge.to, edge.from, {}, String(index));
  dagre.layout(layout);
  const critical = criticalWay(graph, edges);
  const { width = 0, height = 0 } = layout.graph();
  return {
    nodes: graph.nodes.map((node) => ({ ...node, ...position(layout.node(node.id)) })),
    edges: edges.map((edge, index) => ({
      key: String(index),
      points: (layout.edge({ v: edge.to, w: edge.from, name: String(index) }) as { points: { x: number; y: number }[] }).points
        .map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`)
        .join(" "),
      label: edge.after ? `after, ${edge.after.policy}` : edge.artifact,
      critical: critical.has(edge),
    })),
    width,
    height,
  };
}

const position = (node: unknown) => node as { x: number; y: number };

/** The longest way of jobs that have not ended: nothing ends sooner than it. */
function criticalWay(graph: Graph, edges: Graph["edges"]): Set<Graph["edges"][number]> {
  const open = new Set(graph.nodes.filter((node) => ["wait", "busy"].includes(tone(node.status))).map((node) => node.id));
  const before = new Map<string, Graph["edges"]>();
  for (const edge of edges) if (open.has(edge.from) && open.has(edge.to)) before.set(edge.from, [...(before.get(edge.from) ?? []), edge]);
  const length = new Map<string, number>();
  const measure = (start: string): number => {
    const stack = [start];
    while (stack.length) {
      const id = stack.at(-1)!;
      const ways = before.get(id) ?? [];
      const unknown = ways.filter((edge) => !length.has(edge.to));
      if (length.has(id) || !unknown.length) {
        length.set(id, 1 + Math.max(0, ...ways.map((edge) => length.get(edge.to)!)));
        stack.pop();
      } else stack.push(...unknown.map((edge) => edge.to));
    }
    return length.get(start)!;
  };
  let at = [...open].sort((one, other) => measure(other) - measure(one))[0];
  const way = new Set<Graph["edges"][number]>();
  while (at) {
    const next: Graph["edges"][number] | undefined = (before.get(at) ?? []).sort((one, other) => length.get(other.to)! - length.get(one.to)!)[0];
    if (next) way.add(next);
    at = next?.to;
  }
  return way;
}
