/** Entries of the company history: run events and log events, merged and filtered. */

import type { CompanyEvent, RunEvent } from "../../api/types";
import { isPersonEvent } from "../../components/record/EventEntry";
import { formatTime } from "../../text/labels";
import {
  type CompanyLog,
  describeChanges,
  describeLogEvent,
  type LogEntry,
  type LogEvent,
} from "./companyLog";
import type { LoadedEvents } from "./eventHistory";

/** An entry of the history: a run event or a log event. */
export type AuditEntry = { id: string; at: number } & (
  { run: CompanyEvent; log: null } | { run: null; log: LogEntry }
);

interface EntryFilter {
  name: string;
  run: (event: RunEvent) => boolean;
  log: (event: LogEvent) => boolean;
}

const never = () => false;

const SESSION_EVENTS = ["registered", "logged_in", "logged_out", "login_refused"];

export const FILTERS: Record<string, EntryFilter> = {
  people: {
    name: "People's actions",
    run: (event) => Boolean(event.by) && event.by !== "autopilot" && isPersonEvent(event),
    log: (event) => event.by !== "",
  },
  verdicts: { name: "Decisions", run: (event) => event.type === "verdict_given", log: never },
  connectors: {
    name: "Connector changes",
    run: never,
    log: (event) => event.type === "connector_changed",
  },
  sessions: { name: "Sign-ins", run: never, log: (event) => SESSION_EVENTS.includes(event.type) },
  starts: { name: "Runs started", run: (event) => event.type === "run_started", log: never },
  ends: { name: "Runs ended", run: (event) => event.type === "run_ended", log: never },
  all: { name: "Everything", run: () => true, log: () => true },
};

/** Run events and log entries, as far back as each is loaded. */
export interface LoadedHistory {
  runs: LoadedEvents;
  log: CompanyLog;
}

/** How much of the history is loaded and shown. */
export function coverageText(shown: number, known: AuditEntry[], whole: boolean): string {
  const count = (many: number) =>
    `${many.toLocaleString("en")} ${many === 1 ? "entry" : "entries"}`;
  const oldest = known.at(-1);
  if (whole || oldest === undefined)
    return `Complete history: ${shown.toLocaleString("en")} of ${count(known.length)} match the filter.`;
  const since = formatTime(new Date(oldest.at).toISOString());
  return `Partial history: the newest ${count(known.length)}, since ${since}; ${shown.toLocaleString("en")} match the filter. Earlier entries are neither shown nor searched.`;
}

/** Merge events without duplicates. */
export function mergeEvents(part: LoadedEvents, other: LoadedEvents | undefined): LoadedEvents {
  const known = new Set(part.events.map((event) => event.id));
  return {
    ...part,
    events: [...part.events, ...(other?.events ?? []).filter((event) => !known.has(event.id))],
  };
}

/** The time of the oldest loaded entry of each kind; -Infinity if all are loaded. */
export function oldestLoaded({ runs, log }: LoadedHistory): { runs: number; log: number } {
  return {
    runs:
      runs.from === null ? Number.NEGATIVE_INFINITY : Date.parse(runs.events[0]?.event.at ?? ""),
    log:
      log.next === null ? Number.NEGATIVE_INFINITY : Date.parse(log.entries.at(-1)?.event.at ?? ""),
  };
}

/** Entries of both kinds, newest first, since the time from which both are loaded. */
export function mergeEntries(loaded: LoadedHistory): AuditEntry[] {
  const reached = oldestLoaded(loaded);
  const since = Math.max(reached.runs, reached.log);
  const found: AuditEntry[] = [
    ...loaded.log.entries.map((entry): AuditEntry => ({
      id: `log-${entry.seq}`,
      at: Date.parse(entry.event.at),
      run: null,
      log: entry,
    })),
    ...loaded.runs.events.toReversed().map((event): AuditEntry => ({
      id: event.id,
      at: Date.parse(event.event.at),
      run: event,
      log: null,
    })),
  ];
  return found.filter((entry) => !(entry.at < since)).sort((a, b) => b.at - a.at);
}

export function matchesFilter(entry: AuditEntry, kind: string): boolean {
  const filter = FILTERS[kind];
  return (
    filter !== undefined &&
    (entry.run === null ? filter.log(entry.log.event) : filter.run(entry.run.event))
  );
}

/** The text that a search matches. */
export function searchText(entry: AuditEntry): string {
  if (entry.run === null)
    return `${entry.log.event.by} ${describeLogEvent(entry.log.event)} ${describeChanges(entry.log.event).join(" ")}`;
  const { event, run_id } = entry.run;
  return `${event.by ?? ""} ${event.comment ?? ""} ${event.step_id ?? ""} ${event.vertical ?? ""} ${run_id}`;
}
