/** How far a run is, for its picture: the state of each step, and which ways were taken. */

import type { Canvas, Run, RunEvent, Visit } from "./types";
import type { StepState } from "./words";

export interface Progress {
  states: Map<string, StepState>;
  visits: Map<string, Visit>;
  times: Map<string, number>;
  taken: Set<string>;
}

export function way(source: string, target: string): string {
  return `${source}\u0000${target}`;
}

export function progress(canvas: Canvas, run: Run, events: RunEvent[]): Progress {
  const visits = new Map(run.trace.map((visit) => [visit.step_id, visit]));
  const over = run.status === "completed" || run.status === "cancelled";
  const states = new Map(canvas.nodes.map((node): [string, StepState] => [node.id, state(visits.get(node.id), over)]));
  const times = new Map<string, number>();
  for (const visit of run.trace) times.set(visit.step_id, Math.max(times.get(visit.step_id) ?? 0, visit.visit));
  const taken = new Set<string>();
  for (const event of events) {
    if (event.type === "step_entered" && event.source && event.step_id) taken.add(way(event.source, event.step_id));
  }
  return { states, visits, times, taken };
}

function state(visit: Visit | undefined, over: boolean): StepState {
  if (visit === undefined) return over ? "skipped" : "ahead";
  return visit.status;
}
