/** The graph of a process, with pan and zoom. Each step is a button. */

import "@xyflow/react/dist/base.css";
import {
  BaseEdge,
  Controls,
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  Handle,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Canvas, GraphNode } from "../api/types";
import { Loading } from "../components/Feedback";
import { Icon } from "../components/Icon";
import { Label } from "../components/Text";
import { STEP_STATE_LABELS, type StepState } from "../text/labels";
import {
  type GraphLayout,
  layout,
  NODE_HEIGHT,
  NODE_WIDTH,
  roundedPath,
  type RoutedEdge,
} from "./layout";
import { dropTarget, EdgeTools, type GraphEditing } from "./editing";
import { edgeKey, type Progress } from "./progress";

interface Props {
  canvas: Canvas;
  progress?: Progress;
  chosen: string | null;
  onChoose: (id: string) => void;
  editing?: GraphEditing;
  /** How steps differ from those of another version. */
  marks?: Map<string, StepMark>;
}

export type StepMark = "added" | "removed" | "changed";

type StepData = {
  node: GraphNode;
  state: StepState | null;
  mode: "shadow" | "live" | null;
  times: number;
  chosen: boolean;
  mark: StepMark | null;
  connectable: boolean;
  onChoose: (id: string) => void;
};
type EdgeData = {
  way: RoutedEdge;
  state: "taken" | "not-taken" | "plain";
  number: number;
  editing: GraphEditing | undefined;
};

const ZOOM_MIN = 0.9;
const TALL_PX = 620;

export default function ProcessGraph(props: Props) {
  const [found, setFound] = useState<GraphLayout | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let dropped = false;
    layout(props.canvas, "DOWN").then(
      (result) => !dropped && setFound(result),
      () => !dropped && setFailed(true),
    );
    return () => {
      dropped = true;
    };
  }, [props.canvas]);
  if (failed)
    return (
      <p className="muted card">This browser cannot draw the graph. The steps are in the list.</p>
    );
  if (found === null) return <Loading rows={3} what="Drawing the graph" />;
  return (
    <ReactFlowProvider>
      <GraphCanvas {...props} found={found} />
    </ReactFlowProvider>
  );
}

function nodeIcon(node: GraphNode) {
  if (node.kind === "wait") return "clock";
  return node.kind === "task" && node.gate ? "gate" : node.kind;
}

function GraphCanvas({
  canvas,
  progress,
  chosen,
  onChoose,
  editing,
  marks,
  found,
}: Props & { found: GraphLayout }) {
  const frame = useRef<HTMLDivElement>(null);
  const flow = useReactFlow();
  const nodes = useMemo(
    () =>
      canvas.nodes.map((node): Node<StepData> => ({
        id: node.id,
        type: "step",
        position: found.positions.get(node.id) ?? { x: 0, y: 0 },
        width: NODE_WIDTH,
        height: NODE_HEIGHT,
        data: {
          node,
          state: progress?.states.get(node.id) ?? null,
          mode: progress?.visits.get(node.id)?.mode ?? null,
          times: progress?.visitCounts.get(node.id) ?? 0,
          chosen: chosen === node.id,
          mark: marks?.get(node.id) ?? null,
          connectable: editing !== undefined,
          onChoose,
        },
      })),
    [canvas, progress, chosen, onChoose, found, marks, editing],
  );
  const edges = useMemo(
    () =>
      found.edges.map((edge, index): Edge<EdgeData> => ({
        id: String(index),
        source: edge.source,
        target: edge.target,
        type: "way",
        data: {
          way: edge,
          number: index,
          editing,
          state:
            progress === undefined
              ? "plain"
              : progress.takenEdges.has(edgeKey(edge.source, edge.target))
                ? "taken"
                : "not-taken",
        },
      })),
    [found, progress, editing],
  );
  const focus = useMemo(() => initialNode(canvas, progress), [canvas, progress]);
  const place = () => {
    const box = frame.current?.getBoundingClientRect();
    if (box === undefined) return;
    const fits = Math.min(1, (box.width - 32) / found.width, (box.height - 32) / found.height);
    const zoom = Math.max(ZOOM_MIN, fits);
    const at = found.positions.get(focus);
    const middle = { x: found.width / 2, y: found.height / 2 };
    const wide = found.width * zoom > box.width - 32 && at !== undefined;
    const tall = found.height * zoom > box.height - 32 && at !== undefined;
    const x = wide ? at.x + NODE_WIDTH / 2 : middle.x;
    const half = (box.height / 2 - 24) / zoom;
    const y = tall
      ? Math.max(half, Math.min(found.height - half, at.y + NODE_HEIGHT / 2))
      : middle.y;
    void flow.setCenter(x, y, { zoom });
  };
  return (
    <div
      className={found.height > TALL_PX ? "graph tall" : "graph"}
      ref={frame}
      {...dropTarget(editing)}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onInit={place}
        minZoom={0.2}
        maxZoom={1.6}
        nodesDraggable={false}
        nodesConnectable={editing !== undefined}
        onConnect={(made) => editing?.onConnect(made.source, made.target)}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        preventScrolling={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        proOptions={{ hideAttribution: true }}
        aria-label={`Graph of ${canvas.nodes.length} steps`}
      >
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

/** The step to show first: one that waits or failed, else the current one, else the start. */
function initialNode(canvas: Canvas, progress: Progress | undefined): string {
  const order: StepState[] = ["parked", "failed", "calling", "ready", "waiting"];
  for (const state of order) {
    const found = canvas.nodes.find((node) => progress?.states.get(node.id) === state);
    if (found !== undefined) return found.id;
  }
  const ended = canvas.nodes.find(
    (node) => node.kind === "end" && progress?.states.get(node.id) === "done",
  );
  return ended?.id ?? canvas.start;
}

function StepNode({ data }: NodeProps<Node<StepData>>) {
  const { node, state, mode, times, chosen, mark, connectable, onChoose } = data;
  const shape = node.kind === "task" && node.gate ? "guarded" : node.kind;
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={connectable} />
      <button
        type="button"
        className={`node shape-${shape} tier-edge-${node.tier} ${state === null ? "" : `state-${state}`} ${mode === null ? "" : `mode-${mode}`} ${mark === null ? "" : `mark-${mark}`}`}
        aria-pressed={chosen}
        onClick={() => onChoose(node.id)}
      >
        <span className="node-kind">
          <Icon name={nodeIcon(node)} size={15} />
          {node.gate && <span className={`node-tier tier-${node.tier}`}>{node.tier}</span>}
          {mode !== null && (
            <span className={`node-mode mode-${mode}`}>
              <Icon name={mode} size={12} /> {mode === "live" ? "live" : "shadow"}
            </span>
          )}
          {mark !== null && <span className="node-mark">{mark}</span>}
          {state !== null && (
            <span className="node-state">
              {times > 1 && <>×{times} </>}
              <Icon name={state} size={15} />
              <span className="visually-hidden">{STEP_STATE_LABELS[state]}</span>
            </span>
          )}
        </span>
        <span className="node-label">
          <Label text={node.label} maxLength={90} />
        </span>
      </button>
      <Handle type="source" position={Position.Bottom} isConnectable={connectable} />
    </>
  );
}

function RoutedEdgeLine({ id, data }: EdgeProps<Edge<EdgeData>>) {
  if (data === undefined) return null;
  const { way: edge, state, number, editing } = data;
  const end = edge.points.at(-1);
  const before = edge.points.at(-2);
  const turned =
    end === undefined || before === undefined
      ? 0
      : (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI;
  return (
    <g className={`graph-edge graph-edge-${state}`}>
      <BaseEdge id={id} path={roundedPath(edge.points)} />
      {end !== undefined && (
        <path
          className="graph-arrow"
          d="M0 0L-9 -4.500L-9 4.500Z"
          transform={`translate(${end.x} ${end.y}) rotate(${turned})`}
        />
      )}
      {edge.label !== null && (
        <EdgeLabelRenderer>
          <span
            className={`graph-edge-label graph-edge-${state}`}
            style={{
              transform: `translate(${edge.label.x}px, ${edge.label.y}px)`,
              width: edge.label.width,
            }}
          >
            <Label text={edge.name} />
          </span>
        </EdgeLabelRenderer>
      )}
      {editing !== undefined && (
        <EdgeLabelRenderer>
          <EdgeTools edge={edge} number={number} editing={editing} />
        </EdgeLabelRenderer>
      )}
    </g>
  );
}

const NODE_TYPES = { step: StepNode };
const EDGE_TYPES = { way: RoutedEdgeLine };
