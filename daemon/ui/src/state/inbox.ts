/** How many gates wait for the reader, and what changes of open gates, told by events. */

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { get } from "../api/client";
import { useEvents, usePeopleChanges } from "../api/eventStream";
import type { CompanyEvent, GateCount, GateRow } from "../api/types";
import { common } from "../text/en/common";
import { notify } from "./notifications";
import { setTitleCount } from "./title";

export interface GateChange {
  /** The runs whose gates have changed; null when anything may have. */
  runs: string[] | null;
}

const REFRESH_DELAY_MS = 150;
/** Runs that are looked at one by one; when more change at once, lists are loaded again. */
const SINGLE_MAX = 10;
const GATE_EVENTS = new Set([
  "gate_opened",
  "verdict_given",
  "verdict_withdrawn",
  "gate_escalated",
  "gate_expired",
  "gate_rescheduled",
  "gate_blocked",
  "gate_unblocked",
  "gate_answered",
  "proposal_made",
  "run_ended",
  "run_migrated",
  "clock_started",
  "clock_paused",
  "clock_resumed",
  "clock_extended",
  "clock_rescheduled",
  "clock_breached",
  "clock_stopped",
]);

let count: GateCount | null = null;
const watchers = new Set<() => void>();

function setCount(next: GateCount | null): void {
  count = next;
  setTitleCount(next?.mine ?? 0);
  for (const watcher of watchers) watcher();
}

/** How many gates are open, and at how many the reader may decide; null until it is known. */
export function useGateCount(): GateCount | null {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => count,
  );
}

let latestRequest = 0;

async function loadCount(): Promise<void> {
  const own = ++latestRequest;
  const found = await get<GateCount>("/gates/count").catch(() => null);
  if (own !== latestRequest || found === null) return;
  const before = count?.mine ?? found.mine;
  setCount(found);
  if (found.mine > before)
    notify(
      common("gatesWait", { count: found.mine - before }),
      common("inAllWait", { count: found.mine }),
      "#/",
    );
}

/** Keep the count up to date. Used once, by the layout. */
export function useGateCountUpdates(): void {
  useEffect(() => {
    void loadCount();
    return () => {
      latestRequest++;
      setCount(null);
    };
  }, []);
  useGateChanges(() => void loadCount());
}

/** Call back when open gates have changed, at most once at a time and with a short delay. */
export function useGateChanges(listener: (change: GateChange) => void): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  const pending = useRef<{ runs: Set<string>; all: boolean; timer: number | undefined }>({
    runs: new Set(),
    all: false,
    timer: undefined,
  });
  const schedule = useCallback(() => {
    const own = pending.current;
    own.timer ??= window.setTimeout(() => {
      const runs = own.all || own.runs.size > SINGLE_MAX ? null : [...own.runs];
      pending.current = { runs: new Set(), all: false, timer: undefined };
      latest.current({ runs });
    }, REFRESH_DELAY_MS);
  }, []);
  useEffect(() => () => window.clearTimeout(pending.current.timer), []);
  useEvents((events) => {
    if (events.length === 0) pending.current.all = true;
    else if (!events.some(changesGates)) return;
    for (const event of events) if (changesGates(event)) pending.current.runs.add(event.run_id);
    schedule();
  });
  usePeopleChanges(() => {
    pending.current.all = true;
    schedule();
  });
}

function changesGates(event: CompanyEvent): boolean {
  return GATE_EVENTS.has(event.event.type);
}

/** The first rows that a query of open gates finds, again whenever gates change. */
export function useGateRows(query: string): GateRow[] | null {
  const [rows, setRows] = useState<{ query: string; found: GateRow[] } | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let dropped = false;
    get<GateRow[]>(`/gates/?view=row&${query}`).then(
      (found) => !dropped && setRows({ query, found }),
      () => undefined,
    );
    return () => {
      dropped = true;
    };
  }, [query, turn]);
  useGateChanges(() => setTurn((n) => n + 1));
  return rows?.query === query ? rows.found : null;
}
