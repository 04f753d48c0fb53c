/** Every gate that waits in the company: kept for the whole page, and changed as things happen. */

import { useEffect, useSyncExternalStore } from "react";
import { all, get, type Problem } from "./api";
import { asProblem } from "./hooks";
import { useLive } from "./live";
import type { Gate, Run } from "./types";
import { TIERS } from "./words";

export interface Waiting {
  run: Run;
  gate: Gate;
}

export interface Inbox {
  runs: Map<string, Run>;
  loaded: boolean;
  more: boolean;
  problem: Problem | null;
}

const MOST = 2_000;
const SOON_MS = 150;
const MANY = 20;
let inbox: Inbox = { runs: new Map(), loaded: false, more: false, problem: null };
let flat: Waiting[] = [];
const watchers = new Set<() => void>();
let asked = 0;

function set(next: Inbox): void {
  inbox = next;
  flat = [...inbox.runs.values()].flatMap((run) => run.gates.map((gate) => ({ run, gate })));
  for (const watcher of watchers) watcher();
}

function watch(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function useInbox(): Inbox {
  return useSyncExternalStore(watch, () => inbox);
}

export function useWaiting(): Waiting[] {
  return useSyncExternalStore(watch, () => flat);
}

export async function loadInbox(): Promise<void> {
  const own = ++asked;
  try {
    const found = await all<Run>("/process-runs/?status=parked&limit=200", MOST, (part) => {
      if (own === asked && !inbox.loaded) set({ runs: byId(part), loaded: false, more: false, problem: null });
    });
    if (own === asked) set({ runs: byId(found), loaded: true, more: found.length >= MOST, problem: null });
  } catch (error) {
    if (own === asked) set({ ...inbox, problem: asProblem(error) });
  }
}

export function forgetInbox(): void {
  asked++;
  set({ runs: new Map(), loaded: false, more: false, problem: null });
}

function byId(runs: Run[]): Map<string, Run> {
  return new Map(runs.filter((run) => run.gates.length > 0).map((run) => [run.id, run]));
}

/** Put a run as it is now where it belongs. */
export function take(run: Run): void {
  const runs = new Map(inbox.runs);
  const before = runs.get(run.id);
  if (before !== undefined && before.version > run.version) return;
  if (run.gates.length > 0) runs.set(run.id, run);
  else if (!runs.delete(run.id)) return;
  set({ ...inbox, runs });
}

const touched = new Set<string>();
let renewing = false;
const TURNS = new Set(["gate_opened", "verdict_given", "run_ended"]);

/** Load the inbox, and follow what happens; for the one place that surrounds all parts. */
export function useFollowing(): void {
  useEffect(() => {
    void loadInbox();
    return forgetInbox;
  }, []);
  useLive((events) => {
    if (events.length === 0) return void loadInbox();
    for (const one of events) if (TURNS.has(one.event.type)) touched.add(one.run_id);
    void renew();
  });
}

/** Ask for what has changed: one time after the other, and not more often than anybody could follow. */
async function renew(): Promise<void> {
  if (renewing) return;
  renewing = true;
  while (touched.size > 0) {
    await new Promise((done) => setTimeout(done, SOON_MS));
    const ids = [...touched];
    touched.clear();
    if (ids.length > MANY) await loadInbox();
    else for (const one of await Promise.allSettled(ids.map((id) => get<Run>(`/process-runs/${id}`)))) if (one.status === "fulfilled") take(one.value);
  }
  renewing = false;
}

export function riskiestFirst(one: Waiting, other: Waiting): number {
  return TIERS.indexOf(one.gate.tier) - TIERS.indexOf(other.gate.tier) || oldestFirst(one, other);
}

export function oldestFirst(one: Waiting, other: Waiting): number {
  return one.gate.opened_at.localeCompare(other.gate.opened_at) || one.run.id.localeCompare(other.run.id);
}
