/** The progress of a run on its graph: the state of each step, and the edges taken. */

import type { Canvas, Run, RunEvent, TraceEntry } from "../api/types";
import type { StepState } from "../text/labels";

export interface Progress {
  states: Map<string, StepState>;
  visits: Map<string, TraceEntry>;
  visitCounts: Map<string, number>;
  takenEdges: Set<string>;
}

export function edgeKey(source: string, target: string): string {
  return `${source}\u0000${target}`;
}

export function progress(canvas: Canvas, run: Run, events: RunEvent[]): Progress {
  const visits = new Map(run.trace.map((visit) => [visit.step_id, visit]));
  const over = run.status === "completed" || run.status === "cancelled";
  const states = new Map(
    canvas.nodes.map((node): [string, StepState] => [
      node.id,
      stepState(visits.get(node.id), over),
    ]),
  );
  const visitCounts = new Map<string, number>();
  for (const visit of run.trace)
    visitCounts.set(visit.step_id, Math.max(visitCounts.get(visit.step_id) ?? 0, visit.visit));
  const takenEdges = new Set<string>();
  for (const event of events) {
    if (event.type === "step_entered" && event.source && event.step_id)
      takenEdges.add(edgeKey(event.source, event.step_id));
  }
  return { states, visits, visitCounts, takenEdges };
}

function stepState(visit: TraceEntry | undefined, over: boolean): StepState {
  if (visit === undefined) return over ? "skipped" : "pending";
  return visit.status;
}
