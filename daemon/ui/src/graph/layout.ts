/** Graph layout by ELK, in a worker so that the page stays responsive. */

import ELK, { type ElkNode } from "elkjs/lib/elk-api.js";
import workerAddress from "elkjs/lib/elk-worker.min.js?url";
import type { Canvas, GraphEdge } from "../api/types";

export interface Point {
  x: number;
  y: number;
}

export interface RoutedEdge {
  source: string;
  target: string;
  branch: string | null;
  name: string;
  points: Point[];
  label: { x: number; y: number; width: number } | null;
  /** Whether it is every other one of those that connect the same two steps. */
  isBeside: boolean;
}

export interface GraphLayout {
  width: number;
  height: number;
  positions: Map<string, Point>;
  edges: RoutedEdge[];
}

export const NODE_WIDTH = 212;
export const NODE_HEIGHT = 72;
const CHARACTER_WIDTH = 7.2;
const NAME_MAX = 26;
let elk: InstanceType<typeof ELK> | null = null;
const cache = new Map<string, Promise<GraphLayout>>();

/** Lay out a graph: DOWN for the full graph, RIGHT for a thumbnail. Results are cached. */
export function layout(canvas: Canvas, direction: "DOWN" | "RIGHT"): Promise<GraphLayout> {
  const key = `${direction} ${canvas.digest}`;
  const found = cache.get(key) ?? compute(canvas, direction);
  cache.set(key, found);
  found.catch(() => cache.delete(key));
  return found;
}

let lastThumbnail: Promise<unknown> = Promise.resolve();

/** Thumbnails are laid out one at a time, so that a full graph waits for at most one of them. */
function compute(canvas: Canvas, direction: "DOWN" | "RIGHT"): Promise<GraphLayout> {
  if (direction === "DOWN") return runElk(canvas, direction);
  const found = lastThumbnail.then(() => runElk(canvas, direction));
  lastThumbnail = found.catch(() => undefined);
  return found;
}

async function runElk(canvas: Canvas, direction: "DOWN" | "RIGHT"): Promise<GraphLayout> {
  elk ??= new ELK({ workerFactory: () => new Worker(workerAddress) });
  const small = direction === "RIGHT";
  const began = performance.now();
  const root = await elk.layout({
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": direction,
      "elk.edgeRouting": "ORTHOGONAL",
      "elk.layered.spacing.nodeNodeBetweenLayers": small ? "40" : "44",
      "elk.spacing.nodeNode": small ? "28" : "36",
      "elk.spacing.edgeNode": "20",
      "elk.spacing.edgeEdge": "14",
      "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.layered.feedbackEdges": "true",
      "elk.edgeLabels.inline": "false",
    },
    children: canvas.nodes.map((node) => ({
      id: node.id,
      width: small ? 96 : NODE_WIDTH,
      height: small ? 40 : NODE_HEIGHT,
    })),
    edges: canvas.edges.map((edge, index) => ({
      id: String(index),
      sources: [edge.source],
      targets: [edge.target],
      labels:
        small || edge.branch === null
          ? []
          : [
              {
                text: shortName(edge.branch),
                width: shortName(edge.branch).length * CHARACTER_WIDTH + 12,
                height: 18,
              },
            ],
    })),
  });
  performance.measure(`layout of ${canvas.nodes.length} steps`, { start: began });
  return readLayout(canvas, root);
}

function shortName(branch: string): string {
  return branch.length > NAME_MAX ? `${branch.slice(0, NAME_MAX - 1)}…` : branch;
}

function readLayout(canvas: Canvas, root: ElkNode): GraphLayout {
  const positions = new Map(
    (root.children ?? []).map((node) => [node.id, { x: node.x ?? 0, y: node.y ?? 0 }]),
  );
  const edges = (root.edges ?? []).map((edge, index): RoutedEdge => {
    const from = canvas.edges[index];
    const section = edge.sections?.[0];
    const label = edge.labels?.[0];
    return {
      source: from?.source ?? "",
      target: from?.target ?? "",
      branch: from?.branch ?? null,
      name: from?.branch ? shortName(from.branch) : "",
      points:
        section === undefined
          ? []
          : [section.startPoint, ...(section.bendPoints ?? []), section.endPoint],
      isBeside: canvas.edges.slice(0, index).filter((one) => isAlike(one, from)).length % 2 === 1,
      label:
        label === undefined ? null : { x: label.x ?? 0, y: label.y ?? 0, width: label.width ?? 0 },
    };
  });
  return { width: root.width ?? 0, height: root.height ?? 0, positions, edges };
}

function isAlike(one: GraphEdge, other: GraphEdge | undefined): boolean {
  return one.source === other?.source && one.target === other.target;
}

/** An SVG path through the points, with rounded corners. */
export function roundedPath(points: Point[], radius = 8): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let d = `M${first.x} ${first.y}`;
  rest.forEach((point, index) => {
    const before = points[index];
    const after = points[index + 2];
    if (before === undefined || after === undefined) {
      d += `L${point.x} ${point.y}`;
      return;
    }
    const into = pointTowards(point, before, radius);
    const out = pointTowards(point, after, radius);
    d += `L${into.x} ${into.y}Q${point.x} ${point.y} ${out.x} ${out.y}`;
  });
  return d;
}

function pointTowards(from: Point, target: Point, most: number): Point {
  const far = Math.hypot(target.x - from.x, target.y - from.y);
  const part = far === 0 ? 0 : Math.min(most, far / 2) / far;
  return { x: from.x + (target.x - from.x) * part, y: from.y + (target.y - from.y) * part };
}
