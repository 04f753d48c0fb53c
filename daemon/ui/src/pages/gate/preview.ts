/** A preview of each decision from the graph, up to the next gate or the end. */

import type { Canvas, GraphEdge, GraphNode } from "../../api/types";

export type PreviewStep =
  | { what: "step"; node: GraphNode; mode: "live" | "shadow" }
  | { what: "gate"; node: GraphNode }
  | { what: "end"; node: GraphNode }
  | { what: "denied" }
  | { what: "join"; node: GraphNode }
  | { what: "choice"; node: GraphNode; branches: { name: string; first: GraphNode }[] }
  | { what: "fork"; node: GraphNode; branches: { name: string; first: GraphNode }[] }
  | { what: "more" };

const STEPS_MAX = 8;

export interface PreviewOptions {
  /** The mode of a step's call: as the gate lists it, else as its connector says. */
  mode: (node: GraphNode) => "live" | "shadow";
  /** Whether every step waits for a person. */
  everyStepWaits: boolean;
}

export function previewDecision(
  canvas: Canvas,
  step: string,
  decision: string,
  { mode, everyStepWaits }: PreviewOptions,
): PreviewStep[] {
  const nodes = new Map(canvas.nodes.map((node) => [node.id, node]));
  const leaving = (id: string) => canvas.edges.filter((edge) => edge.source === id);
  const from = nodes.get(step);
  if (from === undefined) return [];
  const found: PreviewStep[] = [];
  const runsItself = from.kind === "task" && (decision === "approved" || decision === "retry");
  if (runsItself) found.push({ what: "step", node: from, mode: mode(from) });
  const edges = edgesTaken(from, decision, leaving(step));
  if (edges.length === 0) return [...found, { what: "denied" }];
  if (edges.length > 1) return [...found, forkStep(from, edges, nodes)];
  walk(nodes.get(edges[0]?.target ?? ""), found);
  return found;

  function walk(start: GraphNode | undefined, into: PreviewStep[]): void {
    const seen = new Set<string>();
    for (let node = start; node !== undefined;) {
      if (into.length >= STEPS_MAX || seen.has(node.id)) return void into.push({ what: "more" });
      seen.add(node.id);
      const stop = stops(node);
      if (stop !== null) return void into.push(stop);
      if (node.kind === "task") into.push({ what: "step", node, mode: mode(node) });
      node = nodes.get(leaving(node.id)[0]?.target ?? "");
    }
  }

  function stops(node: GraphNode): PreviewStep | null {
    const out = leaving(node.id);
    if (node.kind === "end") return { what: "end", node };
    if (node.gate || everyStepWaits) return { what: "gate", node };
    if (
      node.flow === "parallel" &&
      canvas.edges.filter((edge) => edge.target === node.id).length > 1
    )
      return { what: "join", node };
    if (node.flow === "parallel" && out.length > 1) return forkStep(node, out, nodes);
    if (node.flow === "exclusive")
      return { what: "choice", node, branches: branchesOf(out, nodes) };
    return null;
  }
}

/** The edges that a decision takes; none if it ends the run. */
function edgesTaken(from: GraphNode, decision: string, edges: GraphEdge[]): GraphEdge[] {
  if (from.flow === "exclusive") return edges.filter((edge) => edge.branch === decision);
  if (decision === "denied") return edges.filter((edge) => edge.branch === "denied");
  return edges.filter((edge) => edge.branch !== "denied");
}

function forkStep(node: GraphNode, edges: GraphEdge[], nodes: Map<string, GraphNode>): PreviewStep {
  return { what: "fork", node, branches: branchesOf(edges, nodes) };
}

function branchesOf(
  edges: GraphEdge[],
  nodes: Map<string, GraphNode>,
): { name: string; first: GraphNode }[] {
  return edges.flatMap((edge) => {
    const first = nodes.get(edge.target);
    return first === undefined ? [] : [{ name: edge.branch ?? first.label, first }];
  });
}
