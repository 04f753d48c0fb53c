/** All open gates of the company and whether the reader may decide, kept up to date by events. */

import { useEffect, useSyncExternalStore } from "react";
import { get, getAll, type Problem, toProblem } from "../api/client";
import { useEvents, usePeopleChanges } from "../api/eventStream";
import type { Gate, OpenGate as StandingGate, Run } from "../api/types";
import { mayDecide, TIERS } from "../text/labels";

export interface OpenGate {
  run: Run;
  gate: Gate;
  /** Whether the gate's policy keeps the reader from deciding, whatever their role. */
  barred: boolean;
}

/** Whether an open gate waits for a reader of this role. */
export function isMine({ gate, barred }: OpenGate, role: string): boolean {
  return !barred && mayDecide(role, gate.role);
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
let barred = new Set<string>();
const watchers = new Set<() => void>();
let latestRequest = 0;

function set(next: Inbox): void {
  inbox = next;
  openGates = [...inbox.runs.values()].flatMap((run) =>
    run.gates.map((gate) => ({ run, gate, barred: barred.has(keyOf(run.id, gate.step_id)) })),
  );
  for (const watcher of watchers) watcher();
}

function keyOf(run: string, step: string): string {
  return `${run} ${step}`;
}

/** Whether a policy may keep people from deciding who have the role. */
function asksPeople({ policy }: Gate): boolean {
  return policy.groups.length > 0 || policy.four_eyes.length > 0 || policy.quorum > 1;
}

/** Ask at which gates the reader may not decide, where a policy of one may say so. */
async function loadBarred(): Promise<void> {
  const asked = openGates.some((item) => asksPeople(item.gate));
  if (!asked && barred.size === 0) return;
  const own = latestRequest;
  const found = asked
    ? await getAll<StandingGate>("/gates/?limit=200", RUNS_MAX).catch(() => null)
    : [];
  if (found === null || own !== latestRequest) return;
  const others = found.filter((item) => !item.can_decide && item.why_not !== "role");
  barred = new Set(others.map((item) => keyOf(item.run_id, item.gate.step_id)));
  set(inbox);
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
    await loadBarred();
  } catch (error) {
    if (own === latestRequest) set({ ...inbox, problem: toProblem(error) });
  }
}

function clearInbox(): void {
  latestRequest++;
  barred = new Set();
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
  "run_migrated",
]);

/** Load the inbox and keep it up to date. Used once, by the layout. */
export function useInboxUpdates(): void {
  useEffect(() => {
    void loadInbox();
    return clearInbox;
  }, []);
  usePeopleChanges(() => void loadBarred());
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
    if (ids.length <= RELOAD_ABOVE) await loadBarred();
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
