/** What a graph lets its author do: connect steps, part them, and place new ones by mouse or keys. */

import type { DragEvent } from "react";
import { Icon } from "../components/Icon";
import { common } from "../text/en/common";
import type { Point, RoutedEdge } from "./layout";

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
  /** The ground was pressed, on which no step is. */
  onLeave: () => void;
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

/** The buttons on a connection of the selected step. */
export function EdgeTools({ edge, editing }: { edge: RoutedEdge; editing: GraphEditing }) {
  const segment = longestOf(edge.points);
  if (segment === null) return null;
  const [at, next] = segment;
  // Beside a label, which stands in the middle, and beside those of the line next to this one.
  const along = edge.label === null ? 0.5 : edge.isBeside ? 0.25 : 0.7;
  const middle = { x: at.x + (next.x - at.x) * along, y: at.y + (next.y - at.y) * along };
  const { source, target } = edge;
  return (
    <span
      className="graph-edge-tools nodrag nopan"
      style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}
    >
      <button
        type="button"
        aria-label={common("insertBetween", { source, target })}
        onClick={() => editing.onInsert(edge)}
      >
        <Icon name="plus" size={14} />
      </button>
      <button
        type="button"
        aria-label={common("removeBetween", { source, target })}
        onClick={() => editing.onDisconnect(edge)}
      >
        <Icon name="close" size={14} />
      </button>
    </span>
  );
}

/** The longest straight part of a line. */
function longestOf(points: Point[]): [Point, Point] | null {
  let [longest, most] = [null as [Point, Point] | null, 0];
  points.forEach((point, place) => {
    const next = points[place + 1];
    if (next === undefined) return;
    const length = Math.hypot(next.x - point.x, next.y - point.y);
    if (length > most) [longest, most] = [[point, next], length];
  });
  return longest;
}
