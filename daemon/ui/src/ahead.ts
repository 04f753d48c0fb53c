/** What would happen on each decision, worked out from the graph: up to where the next person decides, or the end. */

import type { Canvas, GraphEdge, GraphNode } from "./types";

export type Next =
  | { what: "step"; node: GraphNode; mode: "live" | "shadow" }
  | { what: "gate"; node: GraphNode }
  | { what: "end"; node: GraphNode }
  | { what: "denied" }
  | { what: "join"; node: GraphNode }
  | { what: "choice"; node: GraphNode; branches: { name: string; first: GraphNode }[] }
  | { what: "fork"; node: GraphNode; branches: { name: string; first: GraphNode }[] }
  | { what: "more" };

const FAR = 8;

export interface Known {
  /** Whether the call of a step is sent: by what the gate lists, and for what it does not list by the connectors. */
  mode: (node: GraphNode) => "live" | "shadow";
  /** Whether every step waits for a person. */
  careful: boolean;
}

export function ahead(canvas: Canvas, step: string, decision: string, { mode, careful }: Known): Next[] {
  const nodes = new Map(canvas.nodes.map((node) => [node.id, node]));
  const leaving = (id: string) => canvas.edges.filter((edge) => edge.source === id);
  const from = nodes.get(step);
  if (from === undefined) return [];
  const found: Next[] = [];
  const runsItself = from.kind === "task" && (decision === "approved" || decision === "retry");
  if (runsItself) found.push({ what: "step", node: from, mode: mode(from) });
  const edges = taken(from, decision, leaving(step));
  if (edges.length === 0) return [...found, { what: "denied" }];
  if (edges.length > 1) return [...found, fork(from, edges, nodes)];
  walk(nodes.get(edges[0]?.target ?? ""), found);
  return found;

  function walk(start: GraphNode | undefined, into: Next[]): void {
    const seen = new Set<string>();
    for (let node = start; node !== undefined; ) {
      if (into.length >= FAR || seen.has(node.id)) return void into.push({ what: "more" });
      seen.add(node.id);
      const stop = stops(node);
      if (stop !== null) return void into.push(stop);
      if (node.kind === "task") into.push({ what: "step", node, mode: mode(node) });
      node = nodes.get(leaving(node.id)[0]?.target ?? "");
    }
  }

  function stops(node: GraphNode): Next | null {
    const out = leaving(node.id);
    if (node.kind === "end") return { what: "end", node };
    if (node.gate || careful) return { what: "gate", node };
    if (node.flow === "parallel" && canvas.edges.filter((edge) => edge.target === node.id).length > 1) return { what: "join", node };
    if (node.flow === "parallel" && out.length > 1) return fork(node, out, nodes);
    if (node.flow === "exclusive") return { what: "choice", node, branches: named(out, nodes) };
    return null;
  }
}

/** The edges that a decision takes; none when it ends the run. */
function taken(from: GraphNode, decision: string, edges: GraphEdge[]): GraphEdge[] {
  if (from.flow === "exclusive") return edges.filter((edge) => edge.branch === decision);
  if (decision === "denied") return edges.filter((edge) => edge.branch === "denied");
  return edges.filter((edge) => edge.branch !== "denied");
}

function fork(node: GraphNode, edges: GraphEdge[], nodes: Map<string, GraphNode>): Next {
  return { what: "fork", node, branches: named(edges, nodes) };
}

function named(edges: GraphEdge[], nodes: Map<string, GraphNode>): { name: string; first: GraphNode }[] {
  return edges.flatMap((edge) => {
    const first = nodes.get(edge.target);
    return first === undefined ? [] : [{ name: edge.branch ?? first.label, first }];
  });
}
