/** The graph of a process, with pan and zoom. Each step is a button. */

import "@xyflow/react/dist/base.css";
import {
  Controls,
  type Edge,
  type Node,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Canvas } from "../api/types";
import { Loading } from "../components/Feedback";
import { common } from "../text/en/common";
import type { StepState } from "../text/labels";
import { dropTarget, type GraphEditing } from "./editing";
import { EDGE_TYPES, type EdgeData, NODE_TYPES, type StepData, type StepMark } from "./elements";
import { type GraphLayout, layout, NODE_HEIGHT, NODE_WIDTH } from "./layout";
import { edgeKey, type Progress } from "./progress";
import { focusStep, isInView, nextStep, stepAt } from "./walking";
import { common as t } from "../text/en/common";

interface Props {
  canvas: Canvas;
  progress?: Progress;
  chosen: string | null;
  onChoose: (id: string, byKeys: boolean) => void;
  editing?: GraphEditing;
  /** What is wrong with steps. */
  findings?: Map<string, string[]>;
  /** Steps in a row that are drawn as a way. */
  path?: string[];
  /** How steps differ from those of another version. */
  marks?: Map<string, StepMark>;
}

const ZOOM_MIN = 0.9;
const TALL_PX = 620;

/** Where edges begin and end: without it, none is drawn until a browser has measured new nodes. */
const HANDLES: NonNullable<Node["handles"]> = [
  { type: "target", position: Position.Top, x: NODE_WIDTH / 2, y: 0 },
  { type: "source", position: Position.Bottom, x: NODE_WIDTH / 2, y: NODE_HEIGHT },
];

/** A graph with its own layout: those of the next graph take a moment to come. */
interface Drawn {
  canvas: Canvas;
  found: GraphLayout;
}

export default function ProcessGraph(props: Props) {
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let dropped = false;
    setFailed(false);
    layout(props.canvas, "DOWN").then(
      (found) => !dropped && setDrawn({ canvas: props.canvas, found }),
      () => !dropped && setFailed(true),
    );
    return () => {
      dropped = true;
    };
  }, [props.canvas]);
  if (failed) return <p className="muted card">{t("cannotDraw")}</p>;
  if (drawn === null) return <Loading rows={3} what={t("drawing")} />;
  return (
    <ReactFlowProvider>
      <GraphCanvas {...props} {...drawn} busy={drawn.canvas !== props.canvas} />
    </ReactFlowProvider>
  );
}

function GraphCanvas({
  canvas,
  progress,
  chosen,
  onChoose,
  editing,
  marks,
  findings,
  path,
  found,
  busy,
}: Props & Drawn & { busy: boolean }) {
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
        handles: HANDLES,
        data: {
          node,
          state: progress?.states.get(node.id) ?? null,
          mode: progress?.visits.get(node.id)?.mode ?? null,
          times: progress?.visitCounts.get(node.id) ?? 0,
          chosen: chosen === node.id,
          mark: marks?.get(node.id) ?? null,
          findings: findings?.get(node.id) ?? [],
          onPath: path?.includes(node.id) ?? false,
          connectable: editing !== undefined,
          onChoose,
        },
      })),
    [canvas, progress, chosen, onChoose, found, marks, findings, path, editing],
  );
  const ways = useMemo(
    () => new Set((path ?? []).map((id, place) => edgeKey(id, path?.[place + 1] ?? ""))),
    [path],
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
          editing: edge.source === chosen || edge.target === chosen ? editing : undefined,
          state: ways.has(edgeKey(edge.source, edge.target))
            ? "path"
            : progress === undefined
              ? "plain"
              : progress.takenEdges.has(edgeKey(edge.source, edge.target))
                ? "taken"
                : "not-taken",
        },
      })),
    [found, progress, chosen, editing, ways],
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
  const reveal = (id: string | null) => {
    const at = id === null ? undefined : found.positions.get(id);
    const box = frame.current?.getBoundingClientRect();
    if (at === undefined || box === undefined || isInView(at, flow.getViewport(), box)) return;
    const middle = { x: at.x + NODE_WIDTH / 2, y: at.y + NODE_HEIGHT / 2 };
    void flow.setCenter(middle.x, middle.y, { zoom: flow.getZoom() });
  };
  useEffect(() => reveal(chosen), [chosen]);
  useEffect(() => {
    // A graph that has grown or shrunk is shown whole where there is room for it.
    const box = frame.current?.getBoundingClientRect();
    if (box === undefined) return;
    const room = { width: (box.width - 32) / ZOOM_MIN, height: (box.height - 32) / ZOOM_MIN };
    if (found.width <= room.width && found.height <= room.height) place();
    else reveal(chosen);
  }, [found]);
  useEffect(() => {
    const sizes = new ResizeObserver(() => (chosen === null ? place() : reveal(chosen)));
    if (frame.current !== null) sizes.observe(frame.current);
    return () => sizes.disconnect();
  }, [found.height > TALL_PX, chosen]);
  return (
    <div
      className={found.height > TALL_PX ? "graph tall" : "graph"}
      ref={frame}
      aria-busy={busy}
      onFocus={(event) => {
        // A browser scrolls to what has the focus; the graph is moved instead.
        frame.current?.querySelector(".react-flow")?.scrollTo(0, 0);
        reveal(stepAt(event.target));
      }}
      onKeyDown={(event) => {
        const next = nextStep(found.positions, stepAt(event.target), event.key, canvas.start);
        if (next === null) return;
        event.preventDefault();
        focusStep(frame.current, next);
      }}
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
        onPaneClick={() => editing?.onLeave()}
        onConnect={(made) => editing?.onConnect(made.source, made.target)}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        preventScrolling={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        proOptions={{ hideAttribution: true }}
        aria-label={common("graphOf", { count: canvas.nodes.length })}
      >
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

/** The step to show first: one that waits or failed, else the current one, else the start. */
function initialNode(canvas: Canvas, progress: Progress | undefined): string {
  const order: StepState[] = ["parked", "failed", "calling", "judging", "ready", "waiting"];
  for (const state of order) {
    const found = canvas.nodes.find((node) => progress?.states.get(node.id) === state);
    if (found !== undefined) return found.id;
  }
  const ended = canvas.nodes.find(
    (node) => node.kind === "end" && progress?.states.get(node.id) === "done",
  );
  return ended?.id ?? canvas.start;
}
