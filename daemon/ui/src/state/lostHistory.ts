/** What the database has lost in a failover, until the reader has dismissed it. */

import { useSyncExternalStore } from "react";
import { get } from "../api/client";
import { clearCache } from "../api/resources";
import type { CompanyEvent } from "../api/types";

export interface LostHistory {
  /** How often this page has begun anew. */
  times: number;
  /** When the last event was that is left, or "" where that is unknown; null once dismissed. */
  since: string | null;
}

const STORAGE_KEY = "penstock-lost-history";
const watchers = new Set<() => void>();
let lost: LostHistory = { times: 0, since: read() };

export function useLostHistory(): LostHistory {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => lost,
  );
}

/** All that was loaded may be of a history that is lost behind the event `first`. */
export function loseHistory(first: unknown): void {
  clearCache();
  const earlier = lost.since;
  set({ times: lost.times + 1, since: earlier ?? "" });
  if (earlier !== null || typeof first !== "string" || first === "0") return;
  get<CompanyEvent[]>(`/events/?before=${encodeURIComponent(first)}&limit=1`).then(
    ([last]) => last !== undefined && lost.since === "" && set({ ...lost, since: last.event.at }),
    () => undefined,
  );
}

export function dismissLostHistory(): void {
  set({ ...lost, since: null });
}

function set(next: LostHistory): void {
  lost = next;
  try {
    if (next.since === null) sessionStorage.removeItem(STORAGE_KEY);
    else sessionStorage.setItem(STORAGE_KEY, next.since);
  } catch {
    // storage is unavailable: it is shown until the tab is closed
  }
  for (const watcher of watchers) watcher();
}

function read(): string | null {
  try {
    return sessionStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}
