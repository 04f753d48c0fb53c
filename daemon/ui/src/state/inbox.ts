/** All open gates of the company, kept up to date by events. */

import { useEffect, useSyncExternalStore } from "react";
import { get, getAll, type Problem, toProblem } from "../api/client";
import { useEvents } from "../api/eventStream";
import type { Gate, Run } from "../api/types";
import { TIERS } from "../text/labels";

export interface OpenGate {
  run: Run;
  gate: Gate;
}

export interface Inbox {
  runs: Map<string, Run>;
  loaded: boolean;
  more: boolean;
  problem: Problem | null;
}

const RUNS_MAX = 2_000;
const REFRESH_DELAY_MS = 150;
const RELOAD_ABOVE = 20;
let inbox: Inbox = { runs: new Map(), loaded: false, more: false, problem: null };
let openGates: OpenGate[] = [];
const watchers = new Set<() => void>();
let latestRequest = 0;

function set(next: Inbox): void {
  inbox = next;
  openGates = [...inbox.runs.values()].flatMap((run) => run.gates.map((gate) => ({ run, gate })));
  for (const watcher of watchers) watcher();
}

function subscribe(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function useInbox(): Inbox {
  return useSyncExternalStore(subscribe, () => inbox);
}

export function useOpenGates(): OpenGate[] {
  return useSyncExternalStore(subscribe, () => openGates);
}

export async function loadInbox(): Promise<void> {
  const own = ++latestRequest;
  try {
    const found = await getAll<Run>("/process-runs/?status=parked&limit=200", RUNS_MAX, (part) => {
      if (own === latestRequest && !inbox.loaded)
        set({ runs: byId(part), loaded: false, more: false, problem: null });
    });
    if (own === latestRequest)
      set({ runs: byId(found), loaded: true, more: found.length >= RUNS_MAX, problem: null });
  } catch (error) {
    if (own === latestRequest) set({ ...inbox, problem: toProblem(error) });
  }
}

function clearInbox(): void {
  latestRequest++;
  set({ runs: new Map(), loaded: false, more: false, problem: null });
}

function byId(runs: Run[]): Map<string, Run> {
  return new Map(runs.filter((run) => run.gates.length > 0).map((run) => [run.id, run]));
}

/** Add, replace or remove a run, unless a newer version is known. */
export function updateRun(run: Run): void {
  const runs = new Map(inbox.runs);
  const before = runs.get(run.id);
  if (before !== undefined && before.version > run.version) return;
  if (run.gates.length > 0) runs.set(run.id, run);
  else if (!runs.delete(run.id)) return;
  set({ ...inbox, runs });
}

const changedRunIds = new Set<string>();
let refreshing = false;
const GATE_EVENTS = new Set([
  "gate_opened",
  "verdict_given",
  "verdict_withdrawn",
  "gate_escalated",
  "gate_expired",
  "gate_rescheduled",
  "gate_blocked",
  "gate_unblocked",
  "proposal_made",
  "run_ended",
]);

/** Load the inbox and keep it up to date. Used once, by the layout. */
export function useInboxUpdates(): void {
  useEffect(() => {
    void loadInbox();
    return clearInbox;
  }, []);
  useEvents((events) => {
    if (events.length === 0) return void loadInbox();
    for (const event of events)
      if (GATE_EVENTS.has(event.event.type)) changedRunIds.add(event.run_id);
    void refreshChangedRuns();
  });
}

/** Reload changed runs in batches, at most one batch at a time. */
async function refreshChangedRuns(): Promise<void> {
  if (refreshing) return;
  refreshing = true;
  while (changedRunIds.size > 0) {
    await new Promise((done) => setTimeout(done, REFRESH_DELAY_MS));
    const ids = [...changedRunIds];
    changedRunIds.clear();
    if (ids.length > RELOAD_ABOVE) await loadInbox();
    else
      for (const result of await Promise.allSettled(
        ids.map((id) => get<Run>(`/process-runs/${id}`)),
      ))
        if (result.status === "fulfilled") updateRun(result.value);
  }
  refreshing = false;
}

export function riskiestFirst(a: OpenGate, b: OpenGate): number {
  return TIERS.indexOf(a.gate.tier) - TIERS.indexOf(b.gate.tier) || oldestFirst(a, b);
}

export function oldestFirst(a: OpenGate, b: OpenGate): number {
  return a.gate.opened_at.localeCompare(b.gate.opened_at) || a.run.id.localeCompare(b.run.id);
}

/** What is due soonest first; what has no deadline last. */
export function dueFirst(a: OpenGate, b: OpenGate): number {
  const [one, other] = [a.gate.due_at ?? "9", b.gate.due_at ?? "9"];
  return one.localeCompare(other) || riskiestFirst(a, b);
}
