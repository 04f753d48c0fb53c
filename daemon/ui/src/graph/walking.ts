/** Going from step to step on a graph with the arrow keys. */

import { NODE_HEIGHT, NODE_WIDTH, type Point } from "./layout";

const WAYS: Record<string, Point> = {
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
};
/** How much farther a step is that stands to the side. */
const ASIDE = 2;

/** The nearest step in the direction of an arrow key; Home is the first step. */
export function nextStep(
  positions: Map<string, Point>,
  from: string | null,
  key: string,
  start: string,
): string | null {
  if (from !== null && key === "Home") return start;
  const way = WAYS[key];
  const at = from === null ? undefined : positions.get(from);
  if (way === undefined || at === undefined) return null;
  let [nearest, least] = [null as string | null, Infinity];
  for (const [id, point] of positions) {
    const [x, y] = [point.x - at.x, point.y - at.y];
    const along = x * way.x + y * way.y;
    const far = along + ASIDE * Math.abs(x * way.y + y * way.x);
    if (along > 1 && far < least) [nearest, least] = [id, far];
  }
  return nearest;
}

/** The step that an element belongs to. */
export function stepAt(target: EventTarget): string | null {
  if (!(target instanceof Element) || !target.matches(".node")) return null;
  return target.closest<HTMLElement>(".react-flow__node")?.dataset["id"] ?? null;
}

export function focusStep(frame: HTMLElement | null, id: string) {
  const node = `.react-flow__node[data-id="${CSS.escape(id)}"] button`;
  frame?.querySelector<HTMLElement>(node)?.focus({ preventScroll: true });
}

export function isInView(at: Point, view: Point & { zoom: number }, box: DOMRect): boolean {
  const [left, top] = [at.x * view.zoom + view.x, at.y * view.zoom + view.y];
  const [right, bottom] = [left + NODE_WIDTH * view.zoom, top + NODE_HEIGHT * view.zoom];
  return left >= 0 && top >= 0 && right <= box.width && bottom <= box.height;
}
