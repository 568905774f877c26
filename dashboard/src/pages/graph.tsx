import { useData } from "../data";
import { Picture } from "../parts/picture";
import { Empty, Failure } from "../parts/ui";
import { setQuery, useWhere } from "../router";
import type { Graph } from "../types";
import { count } from "../words";

/** The graph of everything that is active, or with what has ended. */
export function GraphPage() {
  const all = useWhere().query.get("all") === "true";
  const { value: whole, problem } = useData<Graph>(all ? "/api/graph?all=true" : "/api/graph");
  const value = whole && connected(whole);
  return (
    <>
      <h1>Graph</h1>
      <div class="tabs" role="group" aria-label="Which jobs">
        <button type="button" aria-pressed={!all} onClick={() => setQuery({ all: null })}>Active</button>
        <button type="button" aria-pressed={all} onClick={() => setQuery({ all: "true" })}>With ended jobs</button>
      </div>
      <Failure problem={problem} />
      {value?.nodes.length === 0 && <Empty>No active job depends on another. <button type="button" class="plain" onClick={() => setQuery({ all: "true" })}>Show ended jobs too</button></Empty>}
      {value && value.nodes.length > 0 && <Picture graph={value} />}
      {value && whole.nodes.length > value.nodes.length && <p class="soft">{count(whole.nodes.length - value.nodes.length)} more depend on no other job and are not drawn.</p>}
      {!value && !problem && <Empty>Loading…</Empty>}
    </>
  );
}

/** The jobs that depend on others, or others on them. */
function connected(graph: Graph): Graph {
  const ends = new Set(graph.edges.flatMap((edge) => [edge.from, edge.to]));
  return { nodes: graph.nodes.filter((node) => ends.has(node.id)), edges: graph.edges };
}
