/** What a graph lets its author do: connect steps, part them, and place new ones by mouse or keys. */

import type { DragEvent } from "react";
import { Icon } from "../components/Icon";
import type { RoutedEdge } from "./layout";

interface Edge {
  source: string;
  target: string;
  branch: string | null;
}

export interface GraphEditing {
  onConnect: (source: string, target: string) => void;
  onInsert: (edge: Edge) => void;
  onDisconnect: (edge: Edge) => void;
  /** A kind of step was dropped on a step, or beside all of them. */
  onPlace: (kind: string, at: string | null) => void;
}

const KIND = "application/x-penstock-kind";

/** The beginning of a drag that places a new step. */
export function dragKind(event: DragEvent, kind: string) {
  event.dataTransfer.setData(KIND, kind);
  event.dataTransfer.effectAllowed = "copy";
}

/** The handlers of an element on which new steps are dropped. */
export function dropTarget(editing: GraphEditing | undefined) {
  if (editing === undefined) return {};
  return {
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer.types.includes(KIND)) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      const kind = event.dataTransfer.getData(KIND);
      if (kind === "" || !(event.target instanceof Element)) return;
      event.preventDefault();
      const step = event.target.closest<HTMLElement>(".react-flow__node");
      editing.onPlace(kind, step?.dataset["id"] ?? null);
    },
  };
}

/** The buttons in the middle of a connection. */
export function EdgeTools({ edge, editing }: { edge: RoutedEdge; editing: GraphEditing }) {
  const at = edge.points[Math.floor((edge.points.length - 1) / 2)];
  const next = edge.points[Math.floor((edge.points.length - 1) / 2) + 1];
  if (at === undefined || next === undefined) return null;
  const middle = { x: (at.x + next.x) / 2, y: (at.y + next.y) / 2 };
  const between = `${edge.source} and ${edge.target}`;
  return (
    <span
      className="graph-edge-tools nodrag nopan"
      style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}
    >
      <button
        type="button"
        aria-label={`Insert a step between ${between}`}
        onClick={() => editing.onInsert(edge)}
      >
        <Icon name="plus" size={14} />
      </button>
      <button
        type="button"
        aria-label={`Remove the connection between ${between}`}
        onClick={() => editing.onDisconnect(edge)}
      >
        <Icon name="close" size={14} />
      </button>
    </span>
  );
}
